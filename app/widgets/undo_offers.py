"""Messages that something was deleted, each with a button that brings it back."""

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.widgets.banner import Banner
from app.widgets.layout import column

SHOWN_MS = 10_000


class UndoOffers(QWidget):
    """The offers of a page, the newest at the bottom. Each stays for itself: none takes the place of another."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("undoOffers")
        self.setAccessibleName("What was deleted")
        self._column = column(of=self)
        self.hide()

    def offer(self, text: str, undo: Callable[[], object]) -> "UndoOffer":
        """Show what was deleted, with an Undo button that calls `undo`. The focus stays where it is."""
        offer = UndoOffer(text, undo, self)
        self._column.addWidget(offer)
        self.show()
        return offer

    def texts(self) -> list[str]:
        """What is offered now, the oldest first."""
        return [offer.text() for offer in self.offers()]

    def offers(self) -> list["UndoOffer"]:
        """The offers that were neither taken nor closed, the oldest first."""
        offers = self.findChildren(UndoOffer, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return [offer for offer in offers if not offer.isHidden()]

    def hide_if_empty(self) -> None:
        self.setVisible(bool(self.offers()))


class UndoOffer(Banner):
    """One deletion. It goes after `SHOWN_MS` in view, but not while the pointer or the focus is in it."""

    def __init__(self, text: str, undo: Callable[[], object], offers: UndoOffers) -> None:
        super().__init__("undoOffer", offers, in_line=True)
        self._offers = offers
        self._time = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._time.timeout.connect(self._end)
        action = QAction("Undo", self, toolTip="Bring it back")
        action.triggered.connect(lambda: undo())  # noqa: PLW0108 - `triggered` has an argument
        self.show_offer(text, [action])

    def setVisible(self, visible: bool) -> None:
        super().setVisible(visible)
        if not visible and self.text():  # else it is being made
            self.deleteLater()
            self._offers.hide_if_empty()

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to count: on a page that was not in front, nobody has seen the offer yet."""
        super().showEvent(event)
        self._time.start()

    @Slot()
    def withdraw(self) -> None:
        """Hide the offer: the deletion was undone in another way."""
        self.hide()

    @Slot()
    def _end(self) -> None:
        focused = QApplication.focusWidget()
        if not self.isVisible():
            return  # it counts again when it is shown
        if self.underMouse() or (focused is not None and self.isAncestorOf(focused)):
            self._time.start()
        else:
            self.hide()
