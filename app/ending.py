"""How the system asks the program to end: Ctrl+C in the terminal it was started from, its end (SIGHUP), or SIGTERM."""

import contextlib
import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal, Slot

from core.system.signals import ENDING


class EndingSignals(QObject):
    """Tells the event loop of the first such signal; a second one ends the program at once.

    Python runs a signal's handler only between two of its own instructions, and an idle event loop has none. So
    the signal also writes a byte into a socket, and that wakes the loop.

    Signals:
        asked: The program should end.
    """

    asked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._inbox, self._outbox = socket.socketpair()
        for end in (self._inbox, self._outbox):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._inbox.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._receive)
        self._woken_before = signal.set_wakeup_fd(self._outbox.fileno(), warn_on_full_buffer=False)
        self._handled_before = {number: signal.signal(number, _let_the_next_one_end) for number in ENDING}

    def release(self) -> None:
        """Give the signals back to whoever had them before."""
        for number, handler in self._handled_before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken_before)
        self._notifier.setEnabled(False)
        self._inbox.close()
        self._outbox.close()

    @Slot()
    def _receive(self) -> None:
        with contextlib.suppress(BlockingIOError):  # a waking without a byte is no signal
            numbers = self._inbox.recv(64)
            if any(number in ENDING for number in numbers):
                self.asked.emit()


def _let_the_next_one_end(_number: int, _frame: FrameType | None) -> None:
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
