"""The positions of a phrase as chips, each of which can be switched off."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.widgets.theme import SMALL, TINY, colours, mono_font
from app.widgets.token_text import visible

ROUND_PX = 5
STEPS: dict[int, int] = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Home: -(10**6),
    Qt.Key.Key_End: 10**6,
}
CHOOSING = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)


class PositionChips(QWidget):
    """In as many lines as the width asks for. A click, or Space, switches a position; Left and Right select one.

    Signals:
        switched: The position, from 0, that the user wants on where it is off, and off where it is on.
        selected: The position that the keys went to.
    """

    switched = Signal(int)
    selected = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("positionChips")
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.MinimumExpanding)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._texts: tuple[str, ...] = ()
        self._frames: list[QRectF] = []
        self._off: frozenset[int] = frozenset()
        self._cursor = 0

    @property
    def frames(self) -> list[QRectF]:
        """Where the chips are."""
        return self._frames

    def show_positions(self, texts: Sequence[str], off: frozenset[int], selected: int) -> None:
        """Show a phrase's tokens, which of them are off, and which one is selected."""
        shown = tuple(map(visible, texts))
        if shown != self._texts:
            self._texts = shown
            self._frames = self._placed(self.width())
            self.updateGeometry()
        self._off, self._cursor = off, selected
        self._describe()
        self.update()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        frames = self._placed(width)
        return round(frames[-1].bottom()) + TINY if frames else 0

    def sizeHint(self) -> QSize:
        return QSize(300, self.heightForWidth(300))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._frames = self._placed(self.width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._frames = self._placed(self.width())
            self.updateGeometry()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        position = self._at(event.position())
        if position is not None and event.button() == Qt.MouseButton.LeftButton:
            self.switched.emit(position)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        over = self._at(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in STEPS and self._texts:
            self.selected.emit(max(0, min(self._cursor + STEPS[event.key()], len(self._texts) - 1)))
        elif event.key() in CHOOSING and self._texts:
            self.switched.emit(self._cursor)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_tool_tip(event.globalPos(), self._at(QPointF(event.pos())))
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(mono_font())
        for position, frame in enumerate(self._frames):
            if frame.intersects(QRectF(event.rect())):
                self._paint(painter, position, frame)
        painter.end()

    def _paint(self, painter: QPainter, position: int, frame: QRectF) -> None:
        theme, off = colours(), position in self._off
        painter.setPen(QPen(QColor(theme.danger if off else theme.border_strong), 1))
        painter.setBrush(QColor(theme.danger_soft if off else theme.accent_soft))
        painter.drawRoundedRect(frame, ROUND_PX, ROUND_PX)
        painter.setPen(QColor(theme.danger if off else theme.text))
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, self._texts[position])
        if off:  # shown by more than a colour
            middle = frame.center().y()
            painter.drawLine(QPointF(frame.left() + TINY, middle), QPointF(frame.right() - TINY, middle))
        if position == self._cursor:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(
                QPen(QColor(theme.accent if self.hasFocus() else theme.text), 2 if self.hasFocus() else 1.5)
            )
            painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), ROUND_PX, ROUND_PX)

    def _describe(self) -> None:
        if not self._texts:
            self.setAccessibleName("Positions")
            return
        state = "off" if self._cursor in self._off else "on"
        text = self._texts[self._cursor]
        self.setAccessibleName(f"Positions: {self._cursor + 1} of {len(self._texts)}, ‘{text}’, {state}")
        off = ", ".join(f"{position + 1} ‘{self._texts[position]}’" for position in sorted(self._off))
        self.setAccessibleDescription(f"Off: {off}" if off else "All positions are on")

    def _placed(self, width: int) -> list[QRectF]:
        """The frames of all texts, in lines of at most `width`."""
        letters = QFontMetricsF(mono_font())
        tall = letters.height() + TINY
        frames: list[QRectF] = []
        left, top = 0.5, 0.5  # where a line of one pixel is sharp
        for text in self._texts:
            wide = letters.horizontalAdvance(text) + SMALL
            if left > 1 and left + wide > width - 1:
                left, top = 0.5, top + tall + TINY
            frames.append(QRectF(left, top, wide, tall))
            left += wide + TINY
        return frames

    def _at(self, place: QPointF) -> int | None:
        return next((number for number, frame in enumerate(self._frames) if frame.contains(place)), None)

    def _show_tool_tip(self, where: QPoint, position: int | None) -> None:
        if position is None:
            QToolTip.hideText()
            return
        off = position in self._off
        state = "off: no later position attends to it" if off else "on"
        QToolTip.showText(
            where,
            f"Position {position + 1} ‘{self._texts[position]}’ is {state}. Click to switch it {'on' if off else 'off'}",
            self,
        )
