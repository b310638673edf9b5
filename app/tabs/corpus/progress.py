"""How far an import is: counted from its events, as one line."""

import time
from collections.abc import Callable, Sequence

from app.tabs.corpus.columns import file_size
from core.events import (
    ArchiveOpened,
    FileImported,
    FileWritten,
    ImportStarted,
    NearDuplicatesFound,
    TextIndexed,
)


class ImportProgress:
    """Files and bytes done of all there are, and the time that the rest will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._paused_at: float | None = None
        self.files = 0  # 0 until the files are known
        self.done = 0
        self._bytes = 0
        self._bytes_done = 0
        self._written = 0
        self._after = ""  # what is done once all files are read

    def show_events(self, events: Sequence[object]) -> None:
        for event in events:
            if isinstance(event, ImportStarted):
                self.files, self._bytes = event.files, event.bytes
                self._started = self._clock()
            elif isinstance(event, ArchiveOpened):
                self.files += event.files
                self._bytes += event.bytes
            elif isinstance(event, FileImported):
                self.done += 1
                self._bytes_done += event.bytes
            elif isinstance(event, FileWritten):
                self._written += 1
            elif isinstance(event, TextIndexed):
                self._after = f"Making texts searchable: {event.done:,} of {event.total:,}"
            elif isinstance(event, NearDuplicatesFound):
                self._after = f"Compared: {event.documents:,} near duplicates"

    def pause(self) -> None:
        """Time that passes from now on is no time of the import."""
        self._paused_at = self._clock()

    def resume(self) -> None:
        if self._paused_at is not None:
            self._started += self._clock() - self._paused_at
            self._paused_at = None

    def text(self) -> str:
        """The line over the progress bar."""
        if not self.files:
            return (
                f"Writing the sample corpus: {self._written} files" if self._written else "Looking for files"
            )
        if self._after and self.done >= self.files:
            return self._after
        parts = [f"{self.done:,} of {self.files:,} files"]
        if self._bytes:
            parts.append(f"{file_size(self._bytes_done)} of {file_size(self._bytes)}")
        if self._paused_at is not None:
            parts.append("paused")
        elif left := self._seconds_left():
            parts.append(f"{spoken_time(left)} left")
        return " · ".join(parts)

    def _seconds_left(self) -> float:
        """0 as long as too little is done to estimate."""
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
