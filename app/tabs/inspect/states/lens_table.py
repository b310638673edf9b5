"""The logit lens as a table: a row for each part of the model, the last on top, and a column for each position."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from app.widgets.shade import shaded
from app.widgets.theme import SMALL, TINY, colours, mono_font
from app.widgets.token_text import probability, visible
from core.inspection.inspected import Inspected
from core.inspection.lens import LensGrid

Index: TypeAlias = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()
SHADE = "accent"  # a field of `Colours`
LETTERS = 9  # that a cell has room for
CORNER_PX = 7
HIGHEST = 15  # tenths of the height that a row needs


class LensCell(NamedTuple):
    """One cell. `is_final`: the whole model says the same; `is_next`: the phrase goes on so."""

    text: str
    prob: float
    is_final: bool
    is_next: bool


class LensModel(QAbstractTableModel):
    """What the lens says. Rows count from the top, where the last part of the model is."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._grid: LensGrid | None = None
        self._texts: list[list[str]] = []  # by row of the grid
        self._tokens: list[str] = []
        self._n_rows = self._n_columns = 0

    def show_grid(self, inspected: Inspected, grid: LensGrid) -> None:
        """Show other numbers; columns are added and removed at the end."""
        tokens, n_rows = [piece.text for piece in inspected.phrase.pieces], len(grid.rows)
        texts = {int(token_id): visible(inspected.text(int(token_id))) for token_id in np.unique(grid.ids)}
        if n_rows != self._n_rows:
            self.beginResetModel()
            self._n_rows, self._n_columns = n_rows, len(tokens)
            self._take(grid, tokens, texts)
            self.endResetModel()
            return
        before, now = self._n_columns, len(tokens)
        changed = [place for place in range(min(before, now)) if tokens[place] != self._tokens[place]]
        if now > before:
            self.beginInsertColumns(ROOT, before, now - 1)
        elif now < before:
            self.beginRemoveColumns(ROOT, now, before - 1)
        self._n_columns = now
        self._take(grid, tokens, texts)
        if now > before:
            self.endInsertColumns()
        elif now < before:
            self.endRemoveColumns()
        if n_rows and now:
            self.dataChanged.emit(self.index(0, 0), self.index(n_rows - 1, now - 1))
        if changed:  # not without need: the header measures all its texts again
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, changed[0], changed[-1])

    def _take(self, grid: LensGrid, tokens: list[str], texts: dict[int, str]) -> None:
        self._grid, self._tokens = grid, tokens
        self._texts = [[texts[token_id] for token_id in row] for row in grid.ids.tolist()]

    def state_of(self, row: int) -> int:
        """The residual stream that a row looks at."""
        assert self._grid is not None, "a row stands for something"
        return self._grid.rows[self._n_rows - 1 - row].state

    def row_of(self, state: int) -> int:
        """The row that looks at a residual stream, or the next one above it."""
        states = [self.state_of(row) for row in range(self._n_rows)]
        return max((row for row, other in enumerate(states) if other >= state), default=0)

    def cell(self, index: Index) -> LensCell:
        assert self._grid is not None, "a cell stands for something"
        place, position = self._n_rows - 1 - index.row(), index.column()
        return LensCell(
            self._texts[place][position],
            float(self._grid.probs[place, position]),
            bool(self._grid.is_final[place, position]),
            bool(self._grid.is_next[place, position]),
        )

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else self._n_rows

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else self._n_columns

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.cell(index).text
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleTextRole:
                return self._in_words(index)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole and orientation == Qt.Orientation.Horizontal:
            return visible(self._tokens[section]) if section < len(self._tokens) else None
        if role != Qt.ItemDataRole.DisplayRole or self._grid is None:
            return None
        if orientation == Qt.Orientation.Vertical:
            return self._grid.rows[self._n_rows - 1 - section].title
        token = visible(self._tokens[section])
        return f"{section + 1}\n{token if len(token) <= LETTERS else token[: LETTERS - 1] + '…'}"

    def _in_words(self, index: Index) -> str:
        cell, column = self.cell(index), index.column()
        title = self.headerData(index.row(), Qt.Orientation.Vertical)
        after = f"After {title}, position {column + 1} {visible(self._tokens[column])}"
        said = f"{after}: {cell.text} with {probability(cell.prob)}"
        if cell.is_final:
            said += ", as the whole model"
        if cell.is_next:
            said += ", and so the phrase goes on"
        return said


class LensDelegate(QStyledItemDelegate):
    """Paints a cell in the shade of its probability, with its marks and the frame of the selected one."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, table = index.model(), self.parent()
        assert isinstance(model, LensModel) and isinstance(table, LensTable), "made for this table"
        cell, place = model.cell(index), QRectF(option.rect)
        fill, ink = shaded(cell.prob, SHADE)
        painter.save()
        painter.fillRect(place, fill)
        painter.setPen(ink)
        painter.setFont(table.letters)
        inside = place.adjusted(TINY, 0, -TINY, 0)
        text = cell.text
        if len(text) > LETTERS - 2 or not text.isascii():  # else there is room
            text = table.metrics.elidedText(text, Qt.TextElideMode.ElideRight, inside.width())
        painter.drawText(inside, Qt.AlignmentFlag.AlignCenter, text)
        if cell.is_final:
            _underline(painter, place, ink)
        if cell.is_next:
            _corner(painter, place, ink)
        if index == table.currentIndex():
            ring = QColor(colours().text if table.hasFocus() else colours().muted)
            painter.setPen(QPen(ring, 3 if table.hasFocus() else 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(place.adjusted(1, 1, -2, -2))
        painter.restore()


class LensTable(QTableView):
    """Scrolls by pixels; all columns have one width, so that a table of any length stands at once."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lensTable")
        self.setAccessibleName("Logit lens")
        self.lens = LensModel(self)
        self.setModel(self.lens)
        self.setItemDelegate(LensDelegate(self))
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setCornerButtonEnabled(False)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setSectionsClickable(False)
            header.setHighlightSections(False)
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_rows()

    def fit_rows(self) -> None:
        """Make rows higher where there is room, within reason."""
        least = round(self.metrics.height()) + 2 * SMALL
        share = self.viewport().height() // max(1, self.lens.rowCount())
        self.verticalHeader().setDefaultSectionSize(max(least, min(share, HIGHEST * least // 10)))

    def fit(self) -> None:
        """Give the cells the room that the font asks for."""
        self.letters = mono_font()
        self.metrics = QFontMetricsF(self.letters)
        # the titles are as long, and in the window's own font
        width = round(LETTERS * self.metrics.horizontalAdvance("m")) + 2 * SMALL + TINY
        self.horizontalHeader().setDefaultSectionSize(width)
        self.fit_rows()


def _underline(painter: QPainter, place: QRectF, ink: QColor) -> None:
    """The mark of what the whole model says."""
    painter.fillRect(QRectF(place.left() + SMALL, place.bottom() - TINY, place.width() - 2 * SMALL, 2), ink)


def _corner(painter: QPainter, place: QRectF, ink: QColor) -> None:
    """The mark of what really follows."""
    corner = place.topRight()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    painter.drawPolygon(QPolygonF((corner, corner + QPointF(-CORNER_PX, 0), corner + QPointF(0, CORNER_PX))))
