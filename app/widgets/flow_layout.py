"""A layout that sets widgets beside each other like words, and begins a new line where one is full."""

from PySide6.QtCore import QMargins, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from app.widgets.theme import SMALL


class FlowLayout(QLayout):
    """As high as its lines need at the width that it is given."""

    def __init__(self, parent: QWidget | None = None, spacing: int = SMALL) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(QMargins())
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, place: int) -> QLayoutItem | None:
        return self._items[place] if 0 <= place < len(self._items) else None

    def takeAt(self, place: int) -> QLayoutItem | None:
        return self._items.pop(place) if 0 <= place < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, room: QRect) -> None:
        super().setGeometry(room)
        self._arrange(room, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, room: QRect, *, move: bool) -> int:
        """Set the items into their places if asked to, and return the height that they take."""
        top = room.top()
        for line in self._lines(room.width()):
            height, left = max(item.sizeHint().height() for item in line), room.left()
            for item in line if move else ():
                size = item.sizeHint()
                lower = (height - size.height()) // 2  # they stand in the middle of their line
                item.setGeometry(QRect(left, top + lower, size.width(), size.height()))
                left += size.width() + self.spacing()
            top += height + self.spacing()
        return max(top - self.spacing() - room.top(), 0)

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        """The items that are not hidden, line by line."""
        lines: list[list[QLayoutItem]] = []
        taken = 0
        for item in self._items:
            if item.isEmpty():
                continue
            needed = item.sizeHint().width()
            if not lines or taken + self.spacing() + needed > width:
                lines.append([])
                taken = -self.spacing()
            lines[-1].append(item)
            taken += self.spacing() + needed
        return lines
