"""The way back to the conversations that a run had before the one in front."""

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from app.tabs.chat.conversation import Conversation
from app.tabs.chat.session import title
from app.widgets.icons import give_icon
from app.widgets.label import without_mnemonic


class EarlierButton(QPushButton):
    """A menu with an entry for each earlier conversation, the last one first.

    Signals:
        chosen: The `Conversation` that should be in front again.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("earlierButton")
        self.setAccessibleName("Earlier conversations")
        give_icon(self, "clock")
        self.setMenu(QMenu(self))
        self.menu().aboutToShow.connect(self._fill)
        self.menu().triggered.connect(self._choose)
        self.newest = QAction("&Back to the earlier conversation", self)
        self.newest.triggered.connect(self._choose_newest)
        self.show_conversations([])

    def show_conversations(self, conversations: Sequence[Conversation]) -> None:
        """Offer these, the last one first."""
        self._conversations = list(conversations)
        self.setEnabled(bool(conversations))
        self.setToolTip(
            "Bring an earlier conversation with this run back"
            if conversations
            else "There is no earlier conversation with this run"
        )

    @Slot()
    def _fill(self) -> None:
        self.menu().clear()
        for place, conversation in enumerate(self._conversations):
            entry = self.menu().addAction(without_mnemonic(title(conversation)))
            entry.setData(place)

    @Slot(QAction)
    def _choose(self, entry: QAction) -> None:
        self.chosen.emit(self._conversations[entry.data()])

    @Slot()
    def _choose_newest(self) -> None:
        self.chosen.emit(self._conversations[0])
