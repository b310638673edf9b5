"""The working page of the Corpus tab: the table of documents, a filter above it, the preview beside it."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSplitter, QVBoxLayout, QWidget

from app.tabs.corpus.document_table import DocumentTable
from app.tabs.corpus.document_view import DocumentView
from app.tabs.corpus.preview import DocumentPreview
from app.tabs.corpus.reading_settings import ReadingSettings
from app.widgets.icons import icon
from app.widgets.theme import HUGE, LARGE, MEDIUM, colours


class Ledger(QSplitter):
    """Shows a `DocumentTable`, and the text of the document under the cursor.

    Signals:
        include_wished: Document numbers, and whether the user wants them in the corpus.
        document_chosen: The row under the cursor, or None.
    """

    include_wished = Signal(list, bool)
    document_chosen = Signal(object)

    def __init__(self, table: DocumentTable, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(LARGE)
        self.filter_box = _filter_box()
        self.reading = ReadingSettings()
        self.documents = DocumentView(table)
        self.preview = DocumentPreview()
        self._glass = self.filter_box.addAction(
            icon("search", colours().muted), QLineEdit.ActionPosition.LeadingPosition
        )
        self.addWidget(self._left_side())
        self.addWidget(self.preview)
        self.setStretchFactor(0, 2)
        self.setStretchFactor(1, 1)
        self.setSizes([830, 370])
        self.filter_box.textChanged.connect(self.documents.filter)
        self.documents.include_wished.connect(self.include_wished)
        self.documents.current_changed.connect(self.document_chosen)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self.filter_box.setFocus)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._glass.setIcon(icon("search", colours().muted))

    def _left_side(self) -> QWidget:
        side = QWidget()
        above = QHBoxLayout()
        above.setSpacing(HUGE)
        above.addWidget(self.filter_box, stretch=1)
        above.addWidget(self.reading)
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(MEDIUM)
        column.addLayout(above)
        column.addWidget(self.documents, stretch=1)
        return side


def _filter_box() -> QLineEdit:
    box = QLineEdit(objectName="filterBox", placeholderText="Filter by name", clearButtonEnabled=True)
    box.setToolTip("Show only the files whose names contain this (Ctrl+F)")
    box.setAccessibleName("Filter by name")
    box.setAcceptDrops(False)  # a drop on it is meant for the page
    return box
