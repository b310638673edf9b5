"""A vocabulary as an item model that sorts and filters itself, because half a million rows must not wait.

Sorting through a proxy asks Python twice for every comparison. Here a column is sorted once, through its list of
keys, and its order is kept; a filter then leaves rows out of that order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Slot
from PySide6.QtGui import QColor

from app.widgets.theme import colours, mono_font
from app.widgets.token_text import invisible, visible
from core.tasks.models.examine_tokenizer import VocabularyEntry

ROOT = QModelIndex()
Index: TypeAlias = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class VocabularyColumn:
    """One column: its title and tip, what a cell shows, and what sorting compares."""

    title: str
    tip: str
    text: Callable[[VocabularyEntry], str]
    sort_key: Callable[[VocabularyEntry], Any]


ID, TOKEN, BYTES, COUNT = range(4)
COLUMNS = (
    VocabularyColumn(
        "Id", "The number that the model sees", lambda entry: f"{entry.id:,}", lambda entry: entry.id
    ),
    VocabularyColumn(
        "Token",
        "What it stands for: ␣ is a space, ⏎ the end of a line, → a tab, \\xe2 a byte of a larger character",
        lambda entry: visible(entry.text),
        lambda entry: entry.text,
    ),
    VocabularyColumn(
        "Bytes",
        "How many bytes of UTF-8 it stands for",
        lambda entry: f"{entry.bytes:,}",
        lambda entry: entry.bytes,
    ),
    VocabularyColumn(
        "Occurrences",
        "How often it occurs in the training text",
        lambda entry: f"{entry.count:,}",
        lambda entry: entry.count,
    ),
)


class VocabularyTable(QAbstractTableModel):
    """The entries of one tokenizer, or those that hold what is looked for."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._mono = mono_font()
        self._sorted_by = (ID, Qt.SortOrder.AscendingOrder)
        self._needle = ""
        self._take([])

    def show(self, entries: Sequence[VocabularyEntry]) -> None:
        """Show another vocabulary, sorted and filtered as the one before."""
        self.beginResetModel()
        self._take(entries)
        self.endResetModel()

    def entry(self, index: Index) -> VocabularyEntry:
        return self._entries[int(self._shown[index.row()])]

    def row_of(self, token_id: int) -> int:
        """The row that shows a token, -1 where the filter leaves it out."""
        found = np.flatnonzero(self._shown == token_id)
        return int(found[0]) if len(found) else -1

    @Slot(str)
    def filter(self, text: str) -> None:
        """Show the tokens that hold `text`, whatever the case, or whose id it is. White space may be given as signs."""
        self._needle = text
        self.beginResetModel()
        self._choose()
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if not 0 <= column < len(COLUMNS):
            return
        self._sorted_by = (column, order)
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        kept = [(int(self._shown[index.row()]), index.column()) for index in before]
        self._choose()
        rows = {int(token_id): row for row, token_id in enumerate(self._shown)} if kept else {}
        self.changePersistentIndexList(before, [self.index(rows[token_id], at) for token_id, at in kept])
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._shown)

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
            return (
                Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            )  # the sort arrow stands on the right
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry, column = self.entry(index), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[column].text(entry)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.FontRole and column == TOKEN:
            return self._mono
        if role == Qt.ItemDataRole.ForegroundRole and not entry.bytes:
            return QColor(colours().muted)  # a special token
        return None

    def _take(self, entries: Sequence[VocabularyEntry]) -> None:
        self._entries = entries
        self._orders: dict[tuple[int, Qt.SortOrder], NDArray[np.int64]] = {}  # ids, all of them
        self._texts = [entry.text.casefold() for entry in entries]
        self._choose()

    def _choose(self) -> None:
        """Find the ids to be shown, in order. An id is the position among the entries."""
        if self._sorted_by not in self._orders:
            column, direction = self._sorted_by
            keys = [COLUMNS[column].sort_key(entry) for entry in self._entries]
            descending = direction == Qt.SortOrder.DescendingOrder
            self._orders[self._sorted_by] = np.array(
                sorted(range(len(keys)), key=keys.__getitem__, reverse=descending), dtype=np.int64
            )
        order = self._orders[self._sorted_by]
        self._shown = order[self._wanted()[order]] if self._needle else order

    def _wanted(self) -> NDArray[np.bool_]:
        needle = invisible(self._needle).casefold()
        wanted = np.fromiter((needle in text for text in self._texts), dtype=bool, count=len(self._texts))
        if needle.isascii() and needle.isdigit() and int(needle) < len(wanted):
            wanted[int(needle)] = True
        return wanted


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeft if column == TOKEN else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter
