"""Names of tokens beside their points."""

from math import ceil

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPixmap

HALO_PX = 2  # around a name, so that it stays legible on points


def haloed(text: str, font: QFont, colour: str, halo: str, ratio: float) -> QPixmap:
    """A text with an edge of another colour, `HALO_PX` wide, for a screen with so many pixels per unit."""
    metrics = QFontMetricsF(font)
    width, height = metrics.horizontalAdvance(text) + 2 * HALO_PX, metrics.height() + 2 * HALO_PX
    pixmap = QPixmap(ceil(width * ratio), ceil(height * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setFont(font)
    base = QPointF(HALO_PX, HALO_PX + metrics.ascent())
    painter.setPen(QColor(halo))
    around = range(-HALO_PX, HALO_PX + 1)
    for right in around:
        for down in around:
            painter.drawText(base + QPointF(right, down), text)
    painter.setPen(QColor(colour))
    painter.drawText(base, text)
    painter.end()
    return pixmap
