"""How far an import is: counted from its events, told in a line."""

import time
from collections.abc import Callable, Sequence

from core.events import FileImported, FileWritten, ImportStarted


class ImportProgress:
    """Files and bytes done of all there are, and the time that the rest will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self.files = 0  # 0 until the files are known
        self.done = 0
        self._bytes = 0
        self._bytes_done = 0
        self._written = 0

    def show_events(self, events: Sequence[object]) -> None:
        for event in events:
            if isinstance(event, ImportStarted):
                self.files, self._bytes = event.files, event.bytes
                self._started = self._clock()
            elif isinstance(event, FileImported):
                self.done += 1
                self._bytes_done += event.bytes
            elif isinstance(event, FileWritten):
                self._written += 1

    def text(self) -> str:
        """The line under the progress bar."""
        if not self.files:
            return (
                f"Writing the sample corpus: {self._written} files" if self._written else "Looking for files"
            )
        left = self._seconds_left()
        return f"{self.done:,} of {self.files:,} files" + (f" · {spoken_time(left)} left" if left else "")

    def _seconds_left(self) -> float:
        """0 as long as too little is done to tell."""
        elapsed = self._clock() - self._started
        if elapsed < 1 or not self._bytes_done or self.done >= self.files:
            return 0
        return elapsed * max(self._bytes - self._bytes_done, 0) / self._bytes_done


def spoken_time(seconds: float) -> str:
    """A span of time as one would say it: "a few seconds", "about 40 s", "about 3 min", "about 2 h"."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds / 5) * 5} s"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min"
    return f"about {round(seconds / 3600)} h"
