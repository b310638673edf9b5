"""All tokens that may come next, the likeliest on top: logits and probabilities as bars, before and after the filters."""

from typing import Any, NamedTuple, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from app.widgets.theme import SMALL, TINY, colours, mono_font
from app.widgets.token_text import probability, visible
from core.config.sampling import SamplingConfig
from core.inspection.inspected import Inspected
from core.inspection.next_token import FilteredProbs, Ranked

Index: TypeAlias = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()
RANK, TOKEN, LOGIT, PROBABILITY, REMOVED = range(5)
TITLES = ("Rank", "Token", "Logit", "Probability", "Removed by")
FOLLOWS = "◂ follows"  # beside the token with which the phrase goes on
BAR_PX = 7


class NextRow(NamedTuple):
    """One token. `scaled` is its logit divided by the temperature, None at temperature 0."""

    id: int
    text: str
    logit: float
    scaled: float | None
    before: float
    after: float
    removed_by: str
    follows: bool


class NextModel(QAbstractTableModel):
    """A row for each token of the vocabulary."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._inspected: Inspected | None = None
        self._ranked: Ranked | None = None
        self._filtered: FilteredProbs | None = None
        self._temperature = 1.0
        self._next_id: int | None = None
        self._n_rows = 0
        self.logit_reach = (0.0, 1.0)  # what the bars of logits cover
        self.highest = 1.0  # the probability of the longest bar

    def show_tokens(
        self,
        inspected: Inspected,
        tokens: Ranked,
        after: FilteredProbs,
        sampling: SamplingConfig,
        position: int,
    ) -> None:
        """Show what may follow a position."""
        before, now = self._n_rows, len(tokens.ids)
        ids = inspected.capture.ids
        self._next_id = int(ids[position + 1]) if position + 1 < len(ids) else None
        self._temperature = 0.0 if after.greedy else sampling.temperature
        stretched = 1 / self._temperature if self._temperature else 1.0
        low, high = (float(tokens.logits[place]) * max(1.0, stretched) for place in (-1, 0))
        self.logit_reach = (min(low, 0.0), max(high, 0.0))
        self.highest = float(max(tokens.probs[0], after.probs[0]))
        if now > before:
            self.beginInsertRows(ROOT, before, now - 1)
        elif now < before:
            self.beginRemoveRows(ROOT, now, before - 1)
        self._inspected, self._ranked, self._filtered, self._n_rows = inspected, tokens, after, now
        if now > before:
            self.endInsertRows()
        elif now < before:
            self.endRemoveRows()
        self.dataChanged.emit(self.index(0, 0), self.index(now - 1, len(TITLES) - 1))

    def row(self, rank: int) -> NextRow:
        """The token of a rank, which counts from 0."""
        assert self._inspected is not None and self._ranked is not None and self._filtered is not None
        token_id, logit = int(self._ranked.ids[rank]), float(self._ranked.logits[rank])
        return NextRow(
            token_id,
            visible(self._inspected.text(token_id)),
            logit,
            logit / self._temperature if self._temperature else None,
            float(self._ranked.probs[rank]),
            float(self._filtered.probs[rank]),
            self._filtered.removed_by(rank),
            token_id == self._next_id,
        )

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else self._n_rows

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(TITLES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._cell_text(index.row(), index.column())
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleTextRole:
                return self._in_words(index.row())
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return TITLES[section]
        return None

    def _cell_text(self, rank: int, column: int) -> str:
        row = self.row(rank)
        match column:
            case 0:
                return f"{rank + 1:,}"
            case 1:
                return f"{row.text}  {FOLLOWS}" if row.follows else row.text
            case 2:
                return f"{row.logit:.2f}".replace("-", "−")
            case 3:
                return f"{probability(row.before)} → {probability(row.after)}"
            case _:
                return row.removed_by

    def _in_words(self, rank: int) -> str:
        row = self.row(rank)
        scaled = "" if row.scaled is None else f", divided by the temperature {row.scaled:.4f}"
        removed = f", removed by {row.removed_by}" if row.removed_by else ""
        follows = ". The phrase goes on with it" if row.follows else ""
        return (
            f"Rank {rank + 1:,}, {row.text}, id {row.id}: logit {row.logit:.4f}{scaled}; "
            f"probability {probability(row.before)}, after the filters {probability(row.after)}{removed}{follows}"
        )


class BarDelegate(QStyledItemDelegate):
    """Paints two bars, before above after, and the number to their right; a removed token is dimmed."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, table = index.model(), self.parent()
        assert isinstance(model, NextModel) and isinstance(table, QTableView), "made for this table"
        row, place = model.row(index.row()), QRectF(option.rect)
        painter.save()
        is_current = index.row() == table.currentIndex().row()
        if is_current:
            painter.fillRect(place, QColor(colours().accent_soft))
        painter.setPen(QColor(colours().muted if row.removed_by else colours().text))
        painter.setFont(mono_font() if index.column() == TOKEN else table.font())
        inside = place.adjusted(SMALL, 0, -SMALL, 0)
        is_number = index.column() in (RANK, LOGIT, PROBABILITY)
        side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
        text = painter.fontMetrics().elidedText(
            str(index.data()), Qt.TextElideMode.ElideRight, int(inside.width())
        )
        painter.drawText(inside, side | Qt.AlignmentFlag.AlignVCenter, text)
        if index.column() in (LOGIT, PROBABILITY):
            widest = "−00.00" if index.column() == LOGIT else "0.00314 % → 0.00314 %"
            figures = painter.fontMetrics().horizontalAdvance(widest) + SMALL
            self._paint_bars(painter, inside.adjusted(0, 0, -figures, 0), model, row, index.column())
        if is_current and table.hasFocus():
            painter.setPen(QPen(QColor(colours().accent), 2))
            painter.drawLine(place.topLeft(), place.topRight())
            painter.drawLine(place.bottomLeft(), place.bottomRight())
        painter.restore()

    def _paint_bars(
        self, painter: QPainter, place: QRectF, model: NextModel, row: NextRow, column: int
    ) -> None:
        low, high = model.logit_reach if column == LOGIT else (0.0, model.highest)
        values = (row.logit, row.scaled) if column == LOGIT else (row.before, row.after)
        gone = column == LOGIT and bool(row.removed_by)
        fills = (colours().border_strong, colours().border if gone else colours().accent)
        middle, unit = place.center().y(), place.width() / ((high - low) or 1.0)
        zero = place.left() - low * unit
        for value, fill, top in zip(values, fills, (middle - BAR_PX - 0.5, middle + 0.5), strict=True):
            if value:
                bar = QRectF(zero, top, value * unit, BAR_PX).normalized()
                painter.fillRect(bar, QColor(fill))
        if low < 0:
            painter.setPen(QColor(colours().muted))
            painter.drawLine(int(zero), int(place.top()) + 1, int(zero), int(place.bottom()) - 1)


class NextTokenChart(QTableView):
    """Bars to be scrolled through; the current row is the token that is looked at."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("nextTokenChart")
        self.setAccessibleName("What may come next")
        self.tokens = NextModel(self)
        self.setModel(self.tokens)
        self.setItemDelegate(BarDelegate(self))
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setSectionsClickable(False)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(24)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(PROBABILITY, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.fit()

    def fit(self) -> None:
        """Give rows and columns the room that the fonts ask for."""
        letters, words = QFontMetrics(mono_font()), self.fontMetrics()
        self.verticalHeader().setDefaultSectionSize(max(letters.height(), 2 * BAR_PX) + 2 * TINY)
        for column, text in (
            (RANK, "50,257"),
            (LOGIT, "−00.00 and a bar as wide"),
            (REMOVED, "temperature or"),
        ):
            self.setColumnWidth(column, words.horizontalAdvance(text) + 2 * SMALL)
        self.setColumnWidth(TOKEN, letters.horizontalAdvance(f"a word  {FOLLOWS}") + 2 * SMALL)
