"""Shades of one colour for numbers from 0 to 1 behind words, and the legend that says what they mean."""

from functools import cache

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.widgets.theme import SMALL, TINY, Colours, colours

BAR_PX, BAR_HIGH_PX = 96, 12
STOPS = 8


def shade(share: float, colour: str) -> QColor:
    """From the surface at 0 to a theme's colour at 1; `colour` is a field of `Colours`."""
    return mixed(QColor(colours().surface), QColor(getattr(colours(), colour)), min(max(share, 0.0), 1.0))


def shaded(share: float, colour: str) -> tuple[QColor, QColor]:
    """The shade of a share, in one of a hundred steps, and the colour of the words on it."""
    return _steps(colour, colours())[round(100 * min(max(share, 0.0), 1.0))]


@cache
def _steps(colour: str, _theme: Colours) -> list[tuple[QColor, QColor]]:
    """Made once for each theme: a table of words asks for hundreds in each picture."""
    fills = [shade(step / 100, colour) for step in range(101)]
    return [(fill, ink_on(fill)) for fill in fills]


def mixed(first: QColor, second: QColor, share: float) -> QColor:
    """`first` at 0, `second` at 1."""
    parts = zip(_parts(first), _parts(second), strict=True)
    return QColor.fromRgbF(*(a + (b - a) * share for a, b in parts))


def ink_on(background: QColor) -> QColor:
    """The colour of text that is read best on a background."""
    inks = (QColor(colours().text), QColor(colours().surface))
    return max(inks, key=lambda ink: contrast(ink, background))


def contrast(first: QColor, second: QColor) -> float:
    """The ratio that WCAG 2.2 defines, from 1 (the same) to 21 (black on white)."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


class ShadeLegend(QWidget):
    """A bar from the lightest to the strongest shade, with what both mean beside it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._low, self._high, self._colour, self._most = "", "", "accent", 1.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_scale(self, low: str, high: str, colour: str, most: float = 1.0) -> None:
        """Say what the ends stand for; `colour` is a field of `Colours`, of which the strongest shade has the share `most`."""
        if (low, high, colour, most) != (self._low, self._high, self._colour, self._most):
            self._low, self._high, self._colour, self._most = low, high, colour, most
            self.setAccessibleName("Shades")
            self.setAccessibleDescription(f"The stronger, the more: from {low} to {high}.")
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        letters = QFontMetrics(self.font())
        words = letters.horizontalAdvance(self._low) + letters.horizontalAdvance(self._high)
        return QSize(words + BAR_PX + 2 * SMALL, max(letters.height(), BAR_HIGH_PX + TINY))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = self.fontMetrics().horizontalAdvance(self._low) + SMALL
        bar = QRectF(left + 0.5, (self.height() - BAR_HIGH_PX) / 2, BAR_PX, BAR_HIGH_PX)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for stop in range(STOPS + 1):
            gradient.setColorAt(stop / STOPS, shade(self._most * stop / STOPS, self._colour))
        painter.setPen(QColor(colours().border_strong))
        painter.setBrush(gradient)
        painter.drawRoundedRect(bar, 3, 3)
        painter.setPen(QColor(colours().muted))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect(), middle | Qt.AlignmentFlag.AlignLeft, self._low)
        painter.drawText(self.rect(), middle | Qt.AlignmentFlag.AlignRight, self._high)
        painter.end()


def _luminance(colour: QColor) -> float:
    """Relative luminance of sRGB, from 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4) for part in _parts(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(colour: QColor) -> tuple[float, float, float]:
    """Red, green and blue, from 0 to 1."""
    return colour.redF(), colour.greenF(), colour.blueF()
