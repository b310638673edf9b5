"""The tokens that may come next as a list of bars: what each is drawn with, and by which filter others are ruled out."""

from typing import Any, TypeAlias

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.widgets.theme import SMALL, TINY, colours, mono_font, small_font
from app.widgets.token_text import probability, visible
from core.tasks.chat.next_token import Candidates, NextCandidate

Index: TypeAlias = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()
CANDIDATE_ROLE = Qt.ItemDataRole.UserRole
TEXT_SHARE, FIGURES = 0.36, "0.0042 %"  # of the width for a token's text; the widest figure
BAR_PX = 10


class CandidateModel(QAbstractListModel):
    """A row for each of the likeliest tokens."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[NextCandidate, ...] = ()
        self.highest = 1.0  # the probability of the longest bar

    def show_candidates(self, rows: tuple[NextCandidate, ...]) -> None:
        before, now = len(self._rows), len(rows)
        self.highest = max((max(row.final, row.probability) for row in rows), default=1.0) or 1.0
        if now > before:
            self.beginInsertRows(ROOT, before, now - 1)
        elif now < before:
            self.beginRemoveRows(ROOT, now, before - 1)
        self._rows = rows
        if now > before:
            self.endInsertRows()
        elif now < before:
            self.endRemoveRows()
        if now:
            self.dataChanged.emit(self.index(0), self.index(now - 1))

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return visible(row.text)
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleTextRole:
                return in_words(row)
        return row if role == CANDIDATE_ROLE else None


def in_words(row: NextCandidate) -> str:
    """A row as a sentence."""
    said = f"{visible(row.text)}, id {row.token_id}: {probability(row.probability)} by the model; "
    said += f"ruled out by {row.removed_by}" if row.removed_by else f"drawn with {probability(row.final)}"
    return f"{said}; less likely by the repetition penalty" if row.is_penalised else said


class CandidateDelegate(QStyledItemDelegate):
    """Paints a token's text, a bar, and a figure; the thin bar below is the model's own probability."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: Index) -> QSize:
        high = max(QFontMetrics(mono_font()).height(), option.fontMetrics.height(), BAR_PX + 5)
        return QSize(0, high + 2 * TINY)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, view = index.model(), self.parent()
        assert isinstance(model, CandidateModel) and isinstance(view, QListView), "made for this list"
        row: NextCandidate = index.data(CANDIDATE_ROLE)
        place = QRectF(option.rect)
        painter.save()
        is_current = index.row() == view.currentIndex().row()
        if is_current:
            painter.fillRect(place, QColor(colours().accent_soft))
        inside = place.adjusted(TINY, 0, -TINY, 0)
        left = inside.left() + TEXT_SHARE * inside.width()
        right = inside.right() - view.fontMetrics().horizontalAdvance(FIGURES)
        colour = QColor(colours().muted if row.removed_by else colours().text)
        self._paint_text(painter, row, inside.adjusted(0, 0, left - inside.right() - SMALL, 0), colour)
        bars = QRectF(left, place.top(), right - SMALL - left, place.height())
        self._paint_bars(painter, row, bars, model.highest)
        painter.setPen(colour)
        painter.setFont(small_font(view.font()) if row.removed_by else view.font())
        figure = row.removed_by or probability(row.final)
        painter.drawText(inside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, figure)
        if is_current and view.hasFocus():
            painter.setPen(QPen(QColor(colours().accent), 2))
            painter.drawRect(place.adjusted(1, 1, -1, -1))
        painter.restore()

    def _paint_text(self, painter: QPainter, row: NextCandidate, place: QRectF, colour: QColor) -> None:
        painter.setFont(mono_font())
        painter.setPen(colour)
        shown = visible(row.text)
        text = painter.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideRight, int(place.width()))
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_bars(self, painter: QPainter, row: NextCandidate, place: QRectF, highest: float) -> None:
        top = place.center().y() - (BAR_PX + 4) / 2
        for share, high, fill in (
            (row.final, BAR_PX, colours().accent),
            (row.probability, 3, colours().border_strong),
        ):
            if share:
                width = max(1.0, share / highest * place.width())
                painter.fillRect(QRectF(place.left(), top, width, high), QColor(fill))
            top += BAR_PX + 1


class CandidateList(QListView):
    """Arrow keys go through the tokens; Enter or a click chooses one, which `activated` or `clicked` says."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("candidateList")
        self.setAccessibleName("The likeliest next tokens")
        self.candidates = CandidateModel(self)
        self.setModel(self.candidates)
        self.setItemDelegate(CandidateDelegate(self))
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)

    def show_candidates(self, found: Candidates) -> None:
        self.candidates.show_candidates(found.tokens)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.scheduleDelayedItemsLayout()
