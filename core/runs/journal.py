"""A run's `events.jsonl`: one event per line, appended as it happens, read back as it was."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.events import CheckpointSaved, Evaluated, Event, RunEnded, SampleWritten, StepDone, event_name
from core.runs.files import telling_disk_errors, write_whole

KINDS: dict[str, type[Event]] = {
    event_name(kind): kind for kind in Event.__subclasses__() if kind.__module__ == Event.__module__
}
STEPPED = (StepDone, Evaluated, SampleWritten, CheckpointSaved)


class Journal:
    """Appends events to the file; what was written is on its way to the disk when `append` returns."""

    def __init__(self, path: Path) -> None:
        with telling_disk_errors(path):
            self._file = path.open("a", encoding="utf-8", buffering=1)
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with telling_disk_errors(self._path):
            self._file.close()

    def append(self, event: Event) -> None:
        """Write one event as one line.

        Raises:
            DiskFullError, WorkspaceError: It could not be written.
        """
        with telling_disk_errors(self._path):
            self._file.write(json.dumps(event.as_record()) + "\n")

    def sync(self) -> None:
        """Wait until every event so far is on the disk."""
        with telling_disk_errors(self._path):
            os.fsync(self._file.fileno())


def read_events(path: Path) -> Iterator[Event]:
    """The events of a journal, oldest first. A torn last line, or one of a later version, is left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            event = _parse(line)
            if event is not None:
                yield event


def rewind(path: Path, step: int) -> None:
    """Forget what was reported after `step`, so that going on from there draws one continuous curve.

    From step 0 a run begins again and reports everything anew, so then all is forgotten.
    """
    kept = [event for event in read_events(path) if step and not _is_after(event, step)]
    write_whole(path, "".join(json.dumps(event.as_record()) + "\n" for event in kept))


def _is_after(event: Event, step: int) -> bool:
    return isinstance(event, RunEnded) or (isinstance(event, STEPPED) and event.step > step)


def _parse(line: str) -> Event | None:
    try:
        record: dict[str, Any] = json.loads(line)
        kind = KINDS[record.pop("event")]
        return kind(**record)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None
