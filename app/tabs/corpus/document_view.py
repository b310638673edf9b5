"""The table of documents on the screen: sorted, filtered, ticked with the mouse or the space bar."""

from PySide6.QtCore import QModelIndex, QSortFilterProxyModel, Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from app.tabs.corpus.columns import NAME, WITH_TEXT
from app.tabs.corpus.document_table import SORT_ROLE, DocumentTable
from app.widgets.icons import give_icon
from core.corpus.library import DocumentRow

WIDTHS_PX = (46, 184, 132, 116, 58, 92, 76, 80)  # the last column takes what is left, too
ROW_HEIGHT_PX = 32


class DocumentView(QTableView):
    """Shows a `DocumentTable` through a filter on the name.

    Signals:
        include_wished: Document numbers, and whether the user wants them in the corpus.
        current_changed: The row that the cursor is on, or None.
    """

    include_wished = Signal(list, bool)
    current_changed = Signal(object)

    def __init__(self, table: DocumentTable, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table = table
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(table)
        self._sorted.setSortRole(SORT_ROLE)
        self._sorted.setFilterKeyColumn(NAME)
        self._sorted.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setModel(self._sorted)
        self.setAccessibleName("Documents")
        self.setToolTip("Space includes or leaves out the chosen files")
        self._arrange()
        self._sorted.dataChanged.connect(self._tell_of_change)

    @Slot(str)
    def filter(self, text: str) -> None:
        """Show the files whose names contain `text`."""
        self._sorted.setFilterFixedString(text)

    def current_row(self) -> DocumentRow | None:
        index = self.currentIndex()
        return self._table.row(self._sorted.mapToSource(index)) if index.isValid() else None

    def selected_rows(self) -> list[DocumentRow]:
        indexes = self.selectionModel().selectedRows()
        return [self._table.row(self._sorted.mapToSource(index)) for index in indexes]

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:
        super().currentChanged(current, previous)
        self.current_changed.emit(self.current_row())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self._selected_with_text():
            self._wish(not all(row.included for row in self._selected_with_text()))
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.selected_rows():
            self.context_menu().popup(event.globalPos())

    def context_menu(self) -> QMenu:
        """What can be done with the selected rows."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        include = menu.addAction("Include in the corpus", self._include)
        exclude = menu.addAction("Leave out of the corpus", self._exclude)
        menu.addSeparator()
        copy = menu.addAction("Copy path", self._copy_paths)
        for action, picture in ((include, "check"), (exclude, "close"), (copy, "copy")):
            give_icon(action, picture)
        for action in (include, exclude):
            action.setEnabled(bool(self._selected_with_text()))
        return menu

    def _arrange(self) -> None:
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)  # Tab leaves the table; the arrow keys move in it
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT_PX)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # until asked otherwise, as the files came
        header.setSortIndicatorClearable(True)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in enumerate(WIDTHS_PX):
            self.setColumnWidth(column, width)
        self.setSortingEnabled(True)

    def _selected_with_text(self) -> list[DocumentRow]:
        return [row for row in self.selected_rows() if row.state in WITH_TEXT]

    def _wish(self, included: bool) -> None:
        self.include_wished.emit([row.id for row in self._selected_with_text()], included)

    @Slot()
    def _include(self) -> None:
        self._wish(True)

    @Slot()
    def _exclude(self) -> None:
        self._wish(False)

    @Slot()
    def _copy_paths(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(row.path for row in self.selected_rows()))

    @Slot(QModelIndex, QModelIndex)
    def _tell_of_change(self, first: QModelIndex, last: QModelIndex) -> None:
        """The file under the cursor may have come to its end while it was looked at."""
        if first.row() <= self.currentIndex().row() <= last.row():
            self.current_changed.emit(self.current_row())
