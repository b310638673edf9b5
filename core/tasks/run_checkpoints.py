"""A run whose checkpoints are opened one after the other into one model, for looking at it through training."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.control import StopToken
from core.run_errors import DamagedCheckpointError, NoCheckpointError, WrongShapeError
from core.runs.catalog import Catalog
from core.runs.folder import RunFolder, Workspace

if TYPE_CHECKING:
    from core.runs.loading import LoadedModel

SKIPPED = (NoCheckpointError, DamagedCheckpointError, WrongShapeError)  # of one checkpoint among others


@dataclass(slots=True, eq=False)
class RunCheckpoints:
    """A run whose checkpoints are opened one after the other into one model, float32: a closed box.

    Only one task may use it at a time. `name` is the run's; the model comes with the first checkpoint.
    """

    run: RunFolder
    loaded: "LoadedModel | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.run.name


def run_checkpoints(workspace: Workspace, name: str) -> RunCheckpoints:
    """The checkpoints of a run; nothing is read yet.

    Raises:
        UnknownRunError: There is no such run.
    """
    return RunCheckpoints(Catalog(workspace).folder(name))


def open_step(checkpoints: RunCheckpoints, step: int, stop: StopToken) -> "LoadedModel":
    """One checkpoint in memory; the one that was there before is there no more.

    Raises:
        StopRequested: `stop` was set.
        NoCheckpointError, DamagedCheckpointError, WrongShapeError and others: As for `open_model`.
    """
    from core.runs.loading import load_model, load_next  # here, because they import torch
    from core.tasks.open_model import move_to_device

    if checkpoints.loaded is None:
        checkpoints.loaded = load_model(checkpoints.run, str(step), stop)
        move_to_device(checkpoints.loaded.model, checkpoints.loaded.config.training.device)
    elif checkpoints.loaded.state.step != step:
        checkpoints.loaded = load_next(checkpoints.loaded, checkpoints.run, str(step), stop)
    return checkpoints.loaded
