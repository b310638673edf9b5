"""Runs that a kill, a crash or a power cut ended: their journal has no end, and nobody trains them."""

import os
from collections.abc import Iterator
from pathlib import Path

from core.config.doctor import NOT_FINITE
from core.events.runs import RemarkMade, RunEnded
from core.runs.catalog import is_held
from core.runs.folder import RunFolder
from core.runs.journal import BLOCK, Journal, cut_torn_line, parse_line
from core.runs.pointers import pointed_step, state_or_none


def is_interrupted(run: RunFolder) -> bool:
    """True for a run that could go on, that never reported an end, and that no process trains.

    One that diverged has reported that: resumed as it is, it would do so again.
    """
    if pointed_step(run, "last") is None or not run.events.exists() or is_held(run):
        return False
    last = next(_events_backwards(run.events), None)
    has_diverged = isinstance(last, RemarkMade) and last.kind == NOT_FINITE
    return not isinstance(last, RunEnded) and not has_diverged


def leave_stopped(run: RunFolder) -> None:
    """Write the end that an interrupted run could not write: that it was stopped at its last checkpoint.

    Raises:
        DiskFullError, WorkspaceError: The journal stays as it was.
    """
    step = pointed_step(run, "last") or 0
    state = state_or_none(run, step)
    cut_torn_line(run.events)
    with Journal(run.events) as journal:
        journal.append(
            RunEnded(
                run.name,
                step,
                "stopped",
                state.best_val_loss if state else None,
                state.seconds if state else 0.0,
            )
        )
        journal.sync()


def _events_backwards(path: Path) -> Iterator[object]:
    """The events of a journal that this version knows, the last one first, without reading all of it."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        rest = b""
        while end > 0:
            start = max(0, end - BLOCK)
            file.seek(start)
            lines = (file.read(end - start) + rest).split(b"\n")
            rest, end = lines[0], start
            yield from _known(lines[:0:-1])
        yield from _known([rest])


def _known(lines: list[bytes]) -> Iterator[object]:
    for line in lines:
        event = parse_line(line) if line else None
        if event is not None:
            yield event
