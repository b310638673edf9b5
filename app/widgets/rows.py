"""Things of one kind as the rows of an item model: the base of the lists and tables that several rooms have."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QStringListModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTableView

R = TypeVar("R")
Index: TypeAlias = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()
ROW_ROLE = Qt.ItemDataRole.UserRole  # the row itself
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class Column(NamedTuple):
    """A column's title, what a cell of it shows of a row, what there is to say of it, and whether it holds numbers."""

    title: str
    text: Callable[[Any], str]
    tip: str = ""
    is_number: bool = False


class Rows(QAbstractTableModel, Generic[R]):
    """A read-only view of a sequence, which may make its members when they are asked for.

    Whoever derives from it names its columns, and says in `cell` what a row answers beside their texts.
    """

    columns: ClassVar[Sequence[Column]] = (Column("", str),)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[R] = ()

    def row(self, place: int) -> R:
        return self._rows[place]

    def find(self, place: int) -> R | None:
        """The row in a place; None where there is none, as that of an empty choice."""
        return self._rows[place] if 0 <= place < len(self._rows) else None

    # How rows come, change and go

    def reset(self, rows: Sequence[R]) -> None:
        """Show others: nothing is selected then."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def replace(self, rows: Sequence[R]) -> None:
        """Show these in the places of the others; rows come and go at the end, and what is selected stays in its place."""
        before, now = len(self._rows), len(rows)
        if now > before:
            self.beginInsertRows(ROOT, before, now - 1)
        elif now < before:
            self.beginRemoveRows(ROOT, now, before - 1)
        self._rows = rows
        if now > before:
            self.endInsertRows()
        elif now < before:
            self.endRemoveRows()
        self.tell_changed(0, now - 1)

    def insert(self, place: int, rows: Sequence[R]) -> None:
        """Show some more, the first of them in this place."""
        self.beginInsertRows(ROOT, place, place + len(rows) - 1)
        self._rows = [*self._rows[:place], *rows, *self._rows[place:]]
        self.endInsertRows()

    def remove(self, first: int, last: int) -> None:
        """Show those from the first to the last place no more."""
        self.beginRemoveRows(ROOT, first, last)
        self._rows = [*self._rows[:first], *self._rows[last + 1 :]]
        self.endRemoveRows()

    def put(self, place: int, row: R) -> None:
        """Show another one in a row's place."""
        self._rows = [*self._rows[:place], row, *self._rows[place + 1 :]]
        self.tell_changed(place, place)

    def tell_changed(self, first: int, last: int) -> None:
        """Say that these rows answer otherwise now."""
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.columns) - 1))

    # Qt's questions

    def cell(self, row: R, column: int, role: int) -> Any:
        """What a row answers in a column."""
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.columns[column].text(row)
            case Qt.ItemDataRole.TextAlignmentRole if self.columns[column].is_number:
                return RIGHT
            case Qt.ItemDataRole.ToolTipRole:  # the whole of what a narrow column cuts
                return self.cell(row, column, Qt.ItemDataRole.DisplayRole)
        return row if role == ROW_ROLE else None

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return self.cell(self._rows[index.row()], index.column(), role) if index.isValid() else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title
            case Qt.ItemDataRole.ToolTipRole:
                return column.tip or None
            case Qt.ItemDataRole.TextAlignmentRole:
                return RIGHT if column.is_number else LEFT  # a head is centred by itself
        return None


class Texts(QStringListModel):
    """Texts as rows, each with a tool tip that says all of it."""

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        is_tip = role == Qt.ItemDataRole.ToolTipRole
        return super().data(index, Qt.ItemDataRole.DisplayRole if is_tip else role)


class RowsView(QTableView):
    """A table whose rows are chosen as wholes, one at a time.

    Signals:
        chosen: The index of what was clicked, or on which Enter was pressed.
    """

    chosen = Signal(QModelIndex)

    def __init__(self, model: QAbstractTableModel, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setModel(model)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)  # Tab leaves the table; the arrow keys move in it
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)
        self.clicked.connect(self.chosen)

    def set_widths(self, widths: Sequence[int], widest: int) -> None:
        """Give the columns these widths, in pixels, and the column `widest` the room that is left."""
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)
        self.horizontalHeader().setSectionResizeMode(widest, QHeaderView.ResizeMode.Stretch)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)
