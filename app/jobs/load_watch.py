"""Watches how much other programs use the processor, for what the window says of times."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from core.system.load import MIN_SLOWDOWN, OtherLoad

INTERVAL_MS = 2_000
STEP = 0.1  # a smaller change is not news


class LoadWatch(QObject):
    """Measures in the window's thread, a few milliseconds each time, an average of the last seconds.

    Signals:
        changed: How many times as long a computation takes on all cores; 1.0 on a machine that is hardly used.
    """

    changed = Signal(float)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._meter = OtherLoad(with_children=True)
        self._told = 1.0
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        self._timer.start()

    @Slot()
    def look(self) -> None:
        """Measure now. A value that hardly differs from the last one is not emitted."""
        slowdown = self._meter.load().slowdown()
        slowdown = slowdown if slowdown >= MIN_SLOWDOWN else 1.0
        if abs(slowdown - self._told) > STEP * self._told:
            self._told = slowdown
            self.changed.emit(slowdown)
