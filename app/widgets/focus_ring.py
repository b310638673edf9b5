"""A frame that shows by a ring that the keys act on what is inside."""

from PySide6.QtCore import QEvent, QObject, QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QWidget

from app.widgets.theme import colours

RADIUS_PX = 10  # of the card that the style sheet draws


class FocusFrame(QFrame):
    """Around a view, which has the focus in its place."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ringed: QWidget | None = None

    def ring(self, view: QWidget) -> None:
        """Draw the ring while this view has the focus."""
        self._ringed = view
        view.installEventFilter(self)

    def eventFilter(self, view: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().eventFilter(view, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._ringed is not None and self._ringed.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(colours().accent), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), RADIUS_PX, RADIUS_PX)
            painter.end()
