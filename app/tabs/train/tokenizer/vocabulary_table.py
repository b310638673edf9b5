"""A vocabulary as an item model that sorts and filters itself, because half a million rows must not wait.

Sorting through a proxy asks Python twice for every comparison. Here a column is sorted once, through its list of
keys, and its order is kept; a filter then leaves rows out of that order.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QColor

from app.widgets.rows import LEFT, Column, Rows
from app.widgets.theme import colours, mono_font
from app.widgets.token_text import invisible, visible
from core.tasks.models.examine_tokenizer import VocabularyEntry

ID, TOKEN, BYTES, COUNT = range(4)
TOKEN_TIP = (
    "What it stands for: ␣ is a space, ⏎ the end of a line, → a tab, \\xe2 a byte of a larger character"
)
SORTED_BY = ("id", "text", "bytes", "count")  # of an entry, by column


class _InOrder(Sequence[VocabularyEntry]):
    """Some of the entries, in an order of their own: `ids`, (n,)."""

    def __init__(self, entries: Sequence[VocabularyEntry], ids: NDArray[np.int64]) -> None:
        self._entries, self._ids = entries, ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place: Any) -> Any:
        return self._entries[int(self._ids[place])]


class VocabularyTable(Rows[VocabularyEntry]):
    """The entries of one tokenizer, or those that hold what is looked for."""

    columns = (
        Column("Id", lambda entry: f"{entry.id:,}", "The number that the model sees", is_number=True),
        Column("Token", lambda entry: visible(entry.text), TOKEN_TIP),
        Column(
            "Bytes", lambda entry: f"{entry.bytes:,}", "How many bytes of UTF-8 it stands for", is_number=True
        ),
        Column(
            "Occurrences",
            lambda entry: f"{entry.count:,}",
            "How often it occurs in the training text",
            is_number=True,
        ),
    )

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
        if not 0 <= column < len(self.columns):
            return
        self._sorted_by = (column, order)
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        kept = [(int(self._shown[index.row()]), index.column()) for index in before]
        self._choose()
        rows = {int(token_id): row for row, token_id in enumerate(self._shown)} if kept else {}
        self.changePersistentIndexList(before, [self.index(rows[token_id], at) for token_id, at in kept])
        self.layoutChanged.emit()

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT  # the sort arrow stands on the right
        return super().headerData(section, orientation, role)

    def cell(self, row: VocabularyEntry, column: int, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.FontRole if column == TOKEN:
                return self._mono
            case Qt.ItemDataRole.ForegroundRole if not row.bytes:
                return QColor(colours().muted)  # a special token
        return super().cell(row, column, role)

    def _take(self, entries: Sequence[VocabularyEntry]) -> None:
        self._entries = entries
        self._orders: dict[tuple[int, Qt.SortOrder], NDArray[np.int64]] = {}  # ids, all of them
        self._texts = [entry.text.casefold() for entry in entries]
        self._choose()

    def _choose(self) -> None:
        """Find the ids to be shown, in order. An id is the position among the entries."""
        if self._sorted_by not in self._orders:
            column, direction = self._sorted_by
            keys = list(map(attrgetter(SORTED_BY[column]), self._entries))
            descending = direction == Qt.SortOrder.DescendingOrder
            self._orders[self._sorted_by] = np.array(
                sorted(range(len(keys)), key=keys.__getitem__, reverse=descending), dtype=np.int64
            )
        order = self._orders[self._sorted_by]
        self._shown = order[self._wanted()[order]] if self._needle else order
        self._rows = _InOrder(self._entries, self._shown)

    def _wanted(self) -> NDArray[np.bool_]:
        needle = invisible(self._needle).casefold()
        wanted = np.fromiter((needle in text for text in self._texts), dtype=bool, count=len(self._texts))
        if needle.isascii() and needle.isdigit() and int(needle) < len(wanted):
            wanted[int(needle)] = True
        return wanted
