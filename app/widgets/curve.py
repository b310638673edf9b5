"""What a plot is made of: a curve with its lines, an axis of steps, and one that can be logarithmic."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyqtgraph as pg

from app.widgets.series import Numbers, Series
from core.runs.smoothing import DEFAULT_SMOOTHING, Smoother


@dataclass(slots=True)
class Curve:
    """One quantity: its points, their smoothed form where it has one, and the lines that show them."""

    name: str
    colour: str  # the field of `Colours` that it is drawn in
    smoothed: bool
    raw_line: pg.PlotDataItem
    bold_line: pg.PlotDataItem
    raw: Series = field(default_factory=Series)
    bold: Series = field(default_factory=Series)
    smoother: Smoother = field(default_factory=lambda: Smoother(DEFAULT_SMOOTHING))

    def extend(self, x: Sequence[float] | Numbers, y: Sequence[float] | Numbers) -> None:
        """Add points. Those at or behind the first new x are replaced, so a step measured again counts once."""
        if len(self.raw) and x[0] <= self.raw.x[-1]:
            self.cut_after(np.nextafter(x[0], -np.inf))
        self.raw.extend(x, y)
        if self.smoothed:
            self.bold.extend(x, self.smoother.extend(y))

    def cut_after(self, x: float) -> None:
        self.raw.cut_after(x)
        if self.smoothed:
            self.smooth(self.smoother.weight)

    def smooth(self, weight: float) -> None:
        self.smoother, self.bold = Smoother(weight), Series()
        self.bold.extend(self.raw.x, self.smoother.extend(self.raw.y))

    def shown(self) -> Series:
        """The points that the bold line shows, and the crosshair reads."""
        return self.bold if self.smoothed else self.raw


class StepAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """An axis of whole numbers."""

    def tickSpacing(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, float]]:
        spacings = super().tickSpacing(minVal, maxVal, size)
        return [(spacing, offset) for spacing, offset in spacings if spacing >= 1] or [(1, 0)]


class NumberAxis(pg.AxisItem):  # type: ignore[misc]  # as above
    """An axis whose logarithmic ticks are plain numbers, and few enough not to touch."""

    def logTickStrings(self, values: Sequence[float], scale: float, spacing: float | None) -> list[str]:
        del scale, spacing
        decades = self.range[1] - self.range[0]
        shown = (1, 2, 5) if decades < 3 else (1,)
        return [_plain(10**value) if _leading_digit(value) in shown else "" for value in values]


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.4g}"


def _leading_digit(exponent: float) -> int:
    """The first digit of ten to the power of `exponent`."""
    return round(float(10 ** (exponent - np.floor(exponent + 1e-9))))
