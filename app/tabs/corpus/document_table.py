"""The ledger of files as an item model: a row per file, filled in while the files are read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QIcon

from app.tabs.corpus.columns import COLUMNS, READING, STATE, STATES, USE, WITH_TEXT, Column
from app.widgets.icons import icon
from app.widgets.theme import colours
from core.corpus.library import DocumentRow
from core.events import FileImported, FileReading

SORT_ROLE = Qt.ItemDataRole.UserRole
ROOT = QModelIndex()
Index: TypeAlias = QModelIndex | QPersistentModelIndex


class DocumentTable(QAbstractTableModel):
    """A view of the library; the library stays the owner of its documents.

    Signals:
        include_wished: Document numbers, and whether the user wants them in the corpus.
        totals_changed: Documents and characters that are included now.
    """

    include_wished = Signal(list, bool)
    totals_changed = Signal(int, int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[DocumentRow] = []
        self._place: dict[str, int] = {}  # path -> row
        self._totals = (0, 0)
        self._icons: dict[tuple[str, str], QIcon] = {}

    @property
    def totals(self) -> tuple[int, int]:
        """Documents and characters that are included."""
        return self._totals

    def row(self, index: Index) -> DocumentRow:
        return self._rows[index.row()]

    def replace_all(self, rows: Sequence[DocumentRow]) -> None:
        """Show exactly `rows`. Those that stay keep their place, selection and scroll position."""
        kept = {row.path for row in rows}
        for first, last in _runs_from_the_end(
            [i for i, row in enumerate(self._rows) if row.path not in kept]
        ):
            self.beginRemoveRows(ROOT, first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()
        self._place = {row.path: i for i, row in enumerate(self._rows)}
        self.put(rows)

    def put(self, rows: Iterable[DocumentRow]) -> None:
        """Change the rows of files that are known, and add the others below."""
        new = []
        for row in {row.path: row for row in rows}.values():
            if row.path in self._place:
                self._change(self._place[row.path], row)
            else:
                new.append(row)
        self._append(new)
        self._count_totals()

    def set_included(self, document_ids: Sequence[int], included: bool) -> None:
        """Show documents as part of the corpus, or not."""
        wanted = set(document_ids)
        for place, row in enumerate(self._rows):
            if row.id in wanted:
                self._change(place, replace(row, included=included))
        self._count_totals()

    def show_events(self, events: Sequence[object]) -> None:
        """Let rows follow an import."""
        rows: dict[str, DocumentRow] = {}
        for event in events:
            if isinstance(event, FileReading):
                rows[event.path] = self._reading(event.path)
            elif isinstance(event, FileImported):
                rows[event.path] = self._imported(event)
        if rows:
            self.put(rows.values())

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section].title
        if role == Qt.ItemDataRole.ToolTipRole:
            return COLUMNS[section].tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(COLUMNS[section])
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        if index.isValid() and index.column() == USE and self.row(index).state in WITH_TEXT:
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self.row(index), COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == SORT_ROLE:
            return column.sort_key(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.reason or row.path
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        return self._look(row, index.column(), role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Pass on the wish to include or exclude a document; its tick follows when the library did."""
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid() or index.column() != USE:
            return False
        self.include_wished.emit([self.row(index).id], Qt.CheckState(value) == Qt.CheckState.Checked)
        return True

    def _look(self, row: DocumentRow, column: int, role: int) -> Any:
        in_corpus = row.included and row.state in WITH_TEXT
        if role == Qt.ItemDataRole.CheckStateRole and column == USE and row.state in WITH_TEXT:
            return Qt.CheckState.Checked if in_corpus else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.AccessibleTextRole and column == USE:
            return "in the corpus" if in_corpus else "not in the corpus"
        if role == Qt.ItemDataRole.DecorationRole and column == STATE:
            return self._state_icon(row.state)
        if role == Qt.ItemDataRole.ForegroundRole and not in_corpus:
            return QColor(colours().muted)
        return None

    def _state_icon(self, state: str) -> QIcon:
        colour = getattr(colours(), STATES[state].colour)
        if (state, colour) not in self._icons:
            self._icons[state, colour] = icon(STATES[state].picture, colour)
        return self._icons[state, colour]

    def _reading(self, path: str) -> DocumentRow:
        if path in self._place:
            return replace(self._rows[self._place[path]], state=READING, reason="")
        return DocumentRow(0, path, Path(path).name, "", READING, "", 0, 0, 0, -1.0, True)

    def _imported(self, event: FileImported) -> DocumentRow:
        known = self._place.get(event.path)
        return DocumentRow(
            id=event.document_id,
            path=event.path,
            name=Path(event.path).name,
            kind=event.kind,
            state=event.state,
            reason=event.reason,
            pages=event.pages,
            characters=event.characters,
            bytes=event.bytes,
            confidence=event.confidence,
            included=True if known is None else self._rows[known].included,
        )

    def _change(self, place: int, row: DocumentRow) -> None:
        if self._rows[place] != row:
            self._rows[place] = row
            self.dataChanged.emit(self.index(place, 0), self.index(place, len(COLUMNS) - 1))

    def _append(self, rows: Sequence[DocumentRow]) -> None:
        if not rows:
            return
        first = len(self._rows)
        self.beginInsertRows(ROOT, first, first + len(rows) - 1)
        self._rows.extend(rows)
        self._place.update((row.path, first + i) for i, row in enumerate(rows))
        self.endInsertRows()

    def _count_totals(self) -> None:
        sizes = [row.characters for row in self._rows if row.included and row.state in WITH_TEXT]
        if self._totals != (len(sizes), sum(sizes)):
            self._totals = (len(sizes), sum(sizes))
            self.totals_changed.emit(*self._totals)


def _alignment(column: Column) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _runs_from_the_end(places: Sequence[int]) -> list[tuple[int, int]]:
    """[1, 2, 5] as [(5, 5), (1, 2)]: neighbours go in one removal, and none moves the ones to come."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and runs[-1][1] == place - 1:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs[::-1]
