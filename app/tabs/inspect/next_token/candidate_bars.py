"""The likeliest tokens of one place, each with its probability as a bar."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.widgets.theme import SMALL, TINY, colours, mono_font
from app.widgets.token_text import probability, visible
from core.inspection.lens import LensCandidate

MOST = 10
TOKEN_SHARE = 0.42  # of the width, for the text


class CandidateBars(QWidget):
    """Read-only; bars are as long as their probability, the whole width being 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("candidateBars")
        self.setAccessibleName("The likeliest tokens of the selected cell")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._candidates: Sequence[LensCandidate] = ()

    def show_candidates(self, candidates: Sequence[LensCandidate]) -> None:
        self._candidates = candidates
        self.setAccessibleDescription("; ".join(map(_spoken, candidates)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(220, MOST * self._line_px())

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = event.pos().y() // self._line_px()
            if 0 <= place < len(self._candidates):
                QToolTip.showText(event.globalPos(), _spoken(self._candidates[place]), self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        high, left = self._line_px(), TOKEN_SHARE * self.width()
        figures = self.fontMetrics().horizontalAdvance("0.0042 %") + SMALL
        for place, candidate in enumerate(self._candidates):
            line = QRectF(0, place * high, self.width(), high)
            self._paint_token(painter, candidate, QRectF(0, line.top(), left - SMALL, high))
            bar = QRectF(left, line.top() + TINY, self.width() - left - figures, high - 2 * TINY)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours().border))
            painter.drawRoundedRect(bar, 3, 3)
            painter.setBrush(QColor(colours().accent))
            painter.drawRoundedRect(
                QRectF(bar.topLeft(), bar.size()).adjusted(0, 0, (candidate.prob - 1) * bar.width(), 0), 3, 3
            )
            painter.setPen(QColor(colours().muted))
            painter.setFont(self.font())
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(line, right, probability(candidate.prob))
        painter.end()

    def _paint_token(self, painter: QPainter, candidate: LensCandidate, place: QRectF) -> None:
        painter.setPen(QColor(colours().text))
        painter.setFont(mono_font())
        text = painter.fontMetrics().elidedText(
            visible(candidate.text), Qt.TextElideMode.ElideRight, int(place.width())
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _line_px(self) -> int:
        return max(QFontMetrics(mono_font()).height(), self.fontMetrics().height()) + TINY


def _spoken(candidate: LensCandidate) -> str:
    return f"{visible(candidate.text)}, id {candidate.id}, {probability(candidate.prob)}"
