"""The request "take this model in": a `.sheep` file of another person becomes a run of this workspace."""

import os
import shutil
from pathlib import Path

from core.control import StopToken
from core.disk.files import DRAFT, rename
from core.errors.runs import RunExistsError
from core.errors.system import system_error
from core.events.base import Task
from core.events.exporting import ModelTaken
from core.export.sheep_file import read_about, unpack_run
from core.runs.catalog import Catalog, is_run
from core.runs.folder import RunFolder, Workspace, as_run_name
from core.tasks.models.change_runs import tidy_runs


def take_model(workspace: Workspace, path: Path, name: str, stop: StopToken) -> Task[str]:
    """Make a run of a `.sheep` file, once its model was opened from it.

    Args:
        name: Of the new run; "" takes that of the file, with a number where a run has it.

    Returns:
        The run's name.

    Raises:
        BadRunNameError, RunExistsError: The name cannot be used.
        NoSheepFileError: The file is none, damaged or packed as bombs are.
        DamagedRunError, DamagedCheckpointError, WrongShapeError, ModelTooLargeError: What is in it does not fit together.
        DiskFullError, SystemRefusalError: It could not be written.
        StopRequested: `stop` was set. After all of these, nothing is left of it.
    """
    from core.runs.loading import load_model  # here, because it imports torch

    theirs, _ = _reading(path)
    yield from tidy_runs(workspace)
    run = workspace.run(name or Catalog(workspace).unused_name(as_run_name(theirs) or "taken"))
    if is_run(run):
        raise RunExistsError(run.name)
    scratch = workspace.root / f".{run.name}.{os.getpid()}{DRAFT}"
    draft = RunFolder(scratch / run.name)  # failures name the run
    try:
        shutil.rmtree(scratch, ignore_errors=True)  # of a process that was killed and had the same number
        step = unpack_run(path, draft, stop)
        loaded = load_model(draft, str(step), stop)
        stop.raise_if_asked()
        size = sum(file.stat().st_size for file in draft.root.rglob("*") if file.is_file())
        if is_run(run):
            raise RunExistsError(run.name)
        rename(draft.root, run.root)
    except OSError as cause:
        raise system_error(OSError(cause.errno, cause.strerror, str(run.root))) from cause
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    yield ModelTaken(run.name, step, loaded.state.parameters, size)
    return run.name


def _reading(path: Path) -> tuple[str, int]:
    """Raises a sentence also where the file cannot be opened at all."""
    try:
        with path.open("rb"):
            return read_about(path)
    except OSError as cause:
        raise system_error(cause) from cause
