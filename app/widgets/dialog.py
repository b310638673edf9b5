"""Dialogs that are large enough for what they hold, and never larger than their screen."""

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QWidget

from app.widgets.geometry import bring_inside, room_for
from app.widgets.layout import column
from app.widgets.page_area import PageArea, needed_size


class Dialog(QDialog):
    """A `QDialog` that grows with its wrapped texts, and scrolls where its screen has no room for all of it.

    Qt alone takes the height of a wrapped text at another width than the dialog's, and cuts off the fields below.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_scrolled = False

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self.make_room()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            self.make_room()
        return done

    def make_room(self) -> None:
        """Grow to the size that the dialog needs at least, as far as the screen allows."""
        room = room_for(self).size()
        needed = needed_size(self, QSize(min(self.width(), room.width()), 0))
        if not self._is_scrolled and needed.boundedTo(room) != needed:
            self._scroll()
        size = self.size().expandedTo(needed).boundedTo(room)
        if size != self.size():
            self.resize(size)
            bring_inside(self)

    def _scroll(self) -> None:
        """Move all that the dialog holds into an area that scrolls."""
        self._is_scrolled = True
        self.setMinimumSize(0, 0)
        content, layout = QWidget(self), self.layout()
        assert layout is not None, "a dialog without a layout needs no room"
        content.setLayout(layout)  # takes the layout and its widgets from the dialog
        column(PageArea(content), of=self)
