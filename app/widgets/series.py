"""The points of a curve: they grow at the end, are cut when a run is taken up earlier, and can be smoothed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

FIRST_CAPACITY = 256


class Series:
    """Points with ascending x, in buffers that double when full: adding one costs the same however many stand."""

    def __init__(self) -> None:
        self._x: Numbers = np.empty(FIRST_CAPACITY)
        self._y: Numbers = np.empty(FIRST_CAPACITY)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def x(self) -> Numbers:
        """A view of the buffer; it is overwritten when points are cut and others added."""
        return self._x[: self._count]

    @property
    def y(self) -> Numbers:
        return self._y[: self._count]

    def extend(self, x: Sequence[float] | Numbers, y: Sequence[float] | Numbers) -> None:
        """Add points behind the others. Both are ascending in x; the caller has left out what is not finite."""
        needed = self._count + len(x)
        if needed > len(self._x):
            self._grow(max(needed, 2 * len(self._x)))
        self._x[self._count : needed] = x
        self._y[self._count : needed] = y
        self._count = needed

    def cut_after(self, x: float) -> None:
        """Forget the points behind `x`."""
        self._count = int(np.searchsorted(self.x, x, side="right"))

    def nearest(self, x: float) -> tuple[float, float] | None:
        """The point nearest to `x`, or None where there is none."""
        if not self._count:
            return None
        after = min(int(np.searchsorted(self.x, x)), self._count - 1)
        before = max(after - 1, 0)
        at = after if self._x[after] - x <= x - self._x[before] else before
        return float(self._x[at]), float(self._y[at])

    def _grow(self, capacity: int) -> None:
        x, y = np.empty(capacity), np.empty(capacity)
        x[: self._count], y[: self._count] = self.x, self.y
        self._x, self._y = x, y
