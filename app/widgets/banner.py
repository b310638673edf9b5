"""One line at the top of a tab that says what went wrong and what to do, or what is good to know."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QToolButton, QWidget

from app.widgets.icons import give_icon
from app.widgets.label import Label
from app.widgets.picture import Picture
from app.widgets.theme import LARGE, MEDIUM, SMALL, set_role

_PICTURES = {"problem": ("warning", "danger"), "notice": ("info", "notice")}
_PICTURE_PX = 20


class Banner(QFrame):
    """Hidden until there is something to say; the user closes it, or the next message replaces it.

    An offer that should stay until it is answered has a banner of its own.
    """

    def __init__(self, name: str = "banner", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName("Message")
        self._picture = Picture("info", "notice", _PICTURE_PX)
        self._label = Label(objectName="bannerLabel", wordWrap=True)
        self._label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)
        self._close = QToolButton(objectName="bannerCloseButton", autoRaise=True)
        self._close.setToolTip("Close this message")
        self._close.setAccessibleName("Close this message")
        give_icon(self._close, "close")
        self._close.clicked.connect(self.hide)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(LARGE, SMALL, SMALL, SMALL)
        layout.setSpacing(MEDIUM)
        layout.addWidget(self._picture, alignment=Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self._label, stretch=1)
        self._buttons = QHBoxLayout()
        layout.addLayout(self._buttons)
        layout.addWidget(self._close, alignment=Qt.AlignmentFlag.AlignVCenter)
        self.hide()

    def text(self) -> str:
        """What the banner says, message and remedy, as one text."""
        return self._label.text()

    @Slot(str, str)
    def show_problem(self, message: str, remedy: str) -> None:
        """Say what happened and what to do next."""
        self._show("problem", f"{message} {remedy}".strip())

    @Slot(str)
    def show_notice(self, text: str) -> None:
        """Say something that is good to know and asks for nothing."""
        self._show("notice", text)

    def show_offer(self, text: str, actions: Sequence[QAction]) -> None:
        """Say something that can be answered: a button for each action, which also closes the banner."""
        self._show("notice", text)
        for action in actions:
            button = QPushButton(action.text(), toolTip=action.toolTip())
            button.setAccessibleName(action.text().replace("&", ""))
            button.clicked.connect(self.hide)
            button.clicked.connect(action.trigger)
            self._buttons.addWidget(button)

    def _show(self, kind: str, text: str) -> None:
        while answer := self._buttons.takeAt(0):
            answer.widget().deleteLater()
        set_role(self, kind)
        self._picture.choose(*_PICTURES[kind])
        self._label.setText(text)
        self._label.setAccessibleName(text)
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self._label, QAccessible.Event.Alert))
