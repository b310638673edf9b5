"""What a cell of the table of documents shows: its text, tick, icon, colour, and what a tool tip adds."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon

from app.tabs.corpus.columns import (
    COLUMNS,
    NEAR,
    NOTE,
    STATE,
    STATES,
    USE,
    Column,
    has_text,
    is_near_duplicate,
    note,
)
from app.widgets.icons import icon
from app.widgets.theme import colours
from core.corpus.library import DocumentRow, SearchHit

# A painted page asks some thousand times: comparing with plain numbers takes a fraction of comparing with an enum.
TEXT = int(Qt.ItemDataRole.DisplayRole)
TICK = int(Qt.ItemDataRole.CheckStateRole)
PICTURE = int(Qt.ItemDataRole.DecorationRole)
COLOUR = int(Qt.ItemDataRole.ForegroundRole)
SIDE = int(Qt.ItemDataRole.TextAlignmentRole)
TIP = int(Qt.ItemDataRole.ToolTipRole)
SPOKEN = int(Qt.ItemDataRole.AccessibleTextRole)


class Cells:
    """The looks of all cells. Icons and colours are made once for each theme."""

    def __init__(self) -> None:
        self._hits: Mapping[int, SearchHit] = {}
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._muted: dict[str, QColor] = {}

    def show_hits(self, hits: Mapping[int, SearchHit]) -> None:
        """Let notes say where a search found its words, by document number."""
        self._hits = hits

    def data(self, row: DocumentRow, column: int, role: int) -> Any:
        """Qt's answer for one role of a cell, or None."""
        if role == TEXT:
            if column == NOTE and row.id in self._hits:
                return self._hits[row.id].excerpt
            return COLUMNS[column].text(row)
        if role == TICK:
            return _tick(row) if column == USE and has_text(row) else None
        if role == PICTURE:
            return self._state_icon(row) if column == STATE else None
        if role == COLOUR:
            return None if row.included and has_text(row) else self._muted_colour()
        if role == SIDE:
            return _SIDES[column]
        if role == TIP:
            return self._tip(row, column)
        if role == SPOKEN and column == USE:
            return "in the corpus" if row.included and has_text(row) else "not in the corpus"
        return None

    def _tip(self, row: DocumentRow, column: int) -> str:
        if column == NOTE and row.id in self._hits:
            return self._hits[row.id].snippet
        return note(row) or row.path

    def _state_icon(self, row: DocumentRow) -> QIcon:
        state = NEAR if is_near_duplicate(row) else row.state
        colour = getattr(colours(), STATES[state].colour)
        if (state, colour) not in self._icons:
            self._icons[state, colour] = icon(STATES[state].picture, colour)
        return self._icons[state, colour]

    def _muted_colour(self) -> QColor:
        name = colours().muted
        if name not in self._muted:
            self._muted[name] = QColor(name)
        return self._muted[name]


def alignment(column: Column) -> Qt.AlignmentFlag:
    """Numbers stand to the right, so that their digits stand below each other."""
    side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _tick(row: DocumentRow) -> Qt.CheckState:
    return Qt.CheckState.Checked if row.included else Qt.CheckState.Unchecked


_SIDES = tuple(alignment(column) for column in COLUMNS)
