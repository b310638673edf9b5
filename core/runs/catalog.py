"""The list of runs on the disk, without opening a model."""

import difflib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.config.run import RunConfig
from core.config.toml import read_run
from core.errors import (
    DamagedCheckpointError,
    DamagedRunError,
    NoCheckpointError,
    UnknownRunError,
    UsageError,
    UserFacingError,
)
from core.events import Event
from core.runs.folder import RunFolder, Workspace
from core.runs.journal import read_events
from core.runs.state import OPTIMIZER, WEIGHTS, CheckpointState, check_file, read_state

LONGEST_STEP = 20  # digits; of thousands, Python makes no number


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in a line. Losses in nats per token, `bytes` of all its files, `changed` in seconds since 1970."""

    name: str
    preset: str
    step: int
    max_steps: int
    train_loss: float | None
    val_loss: float | None
    parameters: int
    bytes: int
    changed: float
    checkpoints: tuple[int, ...]
    best_step: int | None
    last_step: int | None
    has_conversations: bool


class Catalog:
    """The runs of a workspace. Reads the disk at each call and keeps nothing."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def names(self) -> list[str]:
        """The runs that have settings, in alphabetical order."""
        return sorted(path.parent.name for path in self._workspace.runs.glob("*/run.toml"))

    def runs(self) -> list[RunSummary]:
        """All runs, the last changed first; one whose files are damaged is shown as far as it can be read."""
        return sorted(
            (self.summary(name) for name in self.names()), key=lambda run: run.changed, reverse=True
        )

    def folder(self, name: str) -> RunFolder:
        """The folder of a run that exists.

        Raises:
            UnknownRunError: It does not; the nearest name is given.
        """
        names = self.names()
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            raise UnknownRunError(name, nearest[0] if nearest else "")
        return RunFolder(self._workspace.runs / name)  # a copy made by hand can have any name

    def config(self, name: str) -> RunConfig:
        """The settings of a run.

        Raises:
            UnknownRunError, DamagedRunError: There is no such run, or its run.toml is wrong.
        """
        return read_config(self.folder(name))

    def events(self, name: str) -> Iterator[Event]:
        """What the run reported so far, oldest first."""
        return read_events(self.folder(name).events)

    def summary(self, name: str) -> RunSummary:
        """The run in a line."""
        folder = self.folder(name)
        config, state = _config_or_none(folder), _state_or_none(folder)
        best = pointed_step(folder, "best")
        return RunSummary(
            name=name,
            preset=config.preset if config else "",
            step=state.step if state else 0,
            max_steps=config.training.max_steps if config else 0,
            train_loss=state.train_loss if state else None,
            val_loss=state.best_val_loss if state else None,
            parameters=state.parameters if state else 0,
            bytes=_size(folder.root),
            changed=_changed(folder),
            checkpoints=checkpoint_steps(folder),
            best_step=best,
            last_step=pointed_step(folder, "last"),
            has_conversations=_has_conversations(folder),
        )

    def unused_name(self, stem: str = "run") -> str:
        """`stem` itself if no run has it, else with the lowest number from 2 that is free."""
        taken = {path.name.casefold() for path in self._workspace.runs.glob("*")}
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
        return next(name for name in names if name.casefold() not in taken)


def read_config(run: RunFolder) -> RunConfig:
    """The run's settings.

    Raises:
        DamagedRunError: Its run.toml is missing or wrong.
    """
    try:
        return read_run(run.config)
    except UsageError as cause:
        raise DamagedRunError(run.name, f"its run.toml is not valid. {cause}".removesuffix(".")) from cause


def newest_sound_step(run: RunFolder) -> int | None:
    """The step to go on from: the one that `last` names, or the newest before it whose files are whole.

    None where there is no checkpoint at all.

    Raises:
        DamagedCheckpointError: There are checkpoints, and none is whole. What is wrong with the newest is told.
    """
    last = pointed_step(run, "last")
    newest_damage: DamagedCheckpointError | None = None
    for step in sorted(
        (step for step in checkpoint_steps(run) if last is not None and step <= last), reverse=True
    ):
        try:
            state = read_state(run.checkpoint(step))
            for name in (WEIGHTS, OPTIMIZER):
                check_file(run.checkpoint(step), name, state)
        except DamagedCheckpointError as damage:
            newest_damage = newest_damage or damage
        else:
            return step
    if newest_damage is not None:
        raise newest_damage
    return last


def checkpoint_steps(run: RunFolder) -> tuple[int, ...]:
    """The steps whose checkpoints are whole, ascending."""
    folders = run.checkpoints.glob("step-*")
    return tuple(sorted(int(path.name[5:]) for path in folders if path.name[5:].isdecimal()))


def pointed_step(run: RunFolder, which: str) -> int | None:
    """The step that `best` or `last` names; the newest there is where the file is missing or wrong."""
    steps = checkpoint_steps(run)
    try:
        step = int((run.checkpoints / which).read_text(encoding="utf-8").strip().removeprefix("step-"))
    except (OSError, ValueError):
        step = -1
    return step if step in steps else max(steps, default=None)


def find_checkpoint(run: RunFolder, which: str) -> Path:
    """The folder of the checkpoint called "best", "last" or by its step, such as "500".

    Raises:
        NoCheckpointError: There is none of that name; those there are get listed.
    """
    steps = checkpoint_steps(run)
    step = pointed_step(run, which) if which in ("best", "last") else _step_or_none(which)
    if step not in steps:
        known = ["best", "last", *map(str, steps)] if steps else []
        raise NoCheckpointError(run.name, which, ", ".join(known))
    return run.checkpoint(step)


def _step_or_none(which: str) -> int | None:
    digits = which.removeprefix("step-").lstrip("0")
    return int(digits) if digits.isdecimal() and len(digits) <= LONGEST_STEP else None


def _config_or_none(folder: RunFolder) -> RunConfig | None:
    try:
        return read_run(folder.config)
    except UserFacingError:
        return None


def _state_or_none(folder: RunFolder) -> CheckpointState | None:
    last = pointed_step(folder, "last")
    try:
        return None if last is None else read_state(folder.checkpoint(last))
    except DamagedCheckpointError:
        return None


def _has_conversations(folder: RunFolder) -> bool:
    try:
        return bool(json.loads(folder.dataset.read_text(encoding="utf-8"))["has_conversations"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _size(folder: Path) -> int:
    """Bytes of all files below; those that a training run removes meanwhile don't count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).stat().st_size
    return total


def _changed(folder: RunFolder) -> float:
    return max(
        path.stat().st_mtime for path in (folder.config, folder.events, folder.checkpoints) if path.exists()
    )
