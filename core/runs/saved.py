"""The weights of a run that are on the disk: checkpoints, snapshots and kept ones, with what each takes."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.errors.runs import DamagedCheckpointError
from core.runs.folder import RunFolder, checkpoint_name
from core.runs.pointers import POINTERS, checkpoint_steps, kept_steps, pointed_step, snapshot_steps
from core.runs.state import read_state

SavedKind = Literal["checkpoint", "snapshot", "kept"]


@dataclass(frozen=True, slots=True)
class SavedWeights:
    """The weights of a step, in one place.

    `names` are "best" and "last", or what the user keeps it under. `bytes` is the size of its files and `frees` what would be
    free without them: files that a kept one shares stay. `val_loss` is in nats per token, None where the step was not
    evaluated, `saved` in seconds since 1970. `problem` says why it cannot be opened, as a sentence without its full stop.
    """

    step: int
    kind: SavedKind
    names: tuple[str, ...]
    bytes: int
    frees: int
    val_loss: float | None
    saved: float
    problem: str = ""


def saved_weights(run: RunFolder) -> tuple[SavedWeights, ...]:
    """All weights of a run, by step; those of one step in the order checkpoint, snapshot, kept ones."""
    pointed = {which: pointed_step(run, which) for which in POINTERS}
    rows = [
        _row(run.checkpoint(step), step, "checkpoint", *(name for name in POINTERS if pointed[name] == step))
        for step in checkpoint_steps(run)
    ]
    rows += [_row(run.snapshot(step), step, "snapshot") for step in snapshot_steps(run)]
    rows += [
        _row(run.kept / name / checkpoint_name(step), step, "kept", name)
        for name, step in kept_steps(run).items()
    ]
    return tuple(sorted(rows, key=lambda row: row.step))


def folder_bytes(folder: Path) -> tuple[int, int]:
    """The bytes of all files below, and of those that have no other name; what goes meanwhile does not count."""
    total = freed = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = (Path(parent) / name).lstat()
                total += status.st_size
                freed += status.st_size if status.st_nlink == 1 else 0
    return total, freed


def _row(place: Path, step: int, kind: SavedKind, *names: str) -> SavedWeights:
    problem, loss, saved = "", None, 0.0
    try:
        loss = read_state(place).val_loss
    except DamagedCheckpointError as damage:
        problem = damage.message.removesuffix(".")
    with suppress(OSError):
        saved = place.stat().st_mtime
    total, freed = folder_bytes(place)
    return SavedWeights(step, kind, names, total, freed, loss, saved, problem)
