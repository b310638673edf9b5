"""The row above the table: a filter on names, and a search in all texts."""

from PySide6.QtCore import QEvent, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.widgets.icons import icon
from app.widgets.theme import SMALL, colours


class FilterRow(QWidget):
    """Two boxes to find documents with.

    Signals:
        name_changed: Part of the names to be shown.
        search_changed: The words to be found in texts.
    """

    name_changed = Signal(str)
    search_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.filter_box = _box(
            "filterBox", "Filter by name", "Show only the files whose names contain this (Ctrl+F)"
        )
        self.search_box = _box(
            "searchBox",
            "Search in texts",
            "Show only the documents that hold these words; “quoted words” stand together (Ctrl+Shift+F)",
        )
        self._pictures = {
            self.filter_box.addAction(icon("file"), QLineEdit.ActionPosition.LeadingPosition): "file",
            self.search_box.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition): "search",
        }
        self._draw()
        self.filter_box.textChanged.connect(self.name_changed)
        self.search_box.textChanged.connect(self.search_changed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(self.filter_box, stretch=2)
        row.addWidget(self.search_box, stretch=3)
        self._key(QKeySequence(QKeySequence.StandardKey.Find), self.filter_box)
        self._key(QKeySequence("Ctrl+Shift+F"), self.search_box)

    @Slot()
    def clear(self) -> None:
        """Show everything again."""
        self.filter_box.clear()
        self.search_box.clear()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_pictures"):
            self._draw()

    def _draw(self) -> None:
        for action, picture in self._pictures.items():
            action.setIcon(icon(picture, colours().muted))

    def _key(self, keys: QKeySequence, box: QLineEdit) -> None:
        shortcut = QShortcut(keys, self)
        shortcut.activated.connect(box.setFocus)
        shortcut.activated.connect(box.selectAll)


def _box(name: str, title: str, tip: str) -> QLineEdit:
    box = QLineEdit(objectName=name, placeholderText=title, clearButtonEnabled=True, toolTip=tip)
    box.setAccessibleName(title)
    box.setAcceptDrops(False)  # a drop on it is meant for the page
    return box
