"""Writing a checkpoint, whole or not at all: a temporary folder, synced, then renamed.

A kill at any moment leaves the checkpoints that were there, and perhaps a draft that the next one clears away.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from torch import Tensor

from core.files import move_folder_into_place, raising_disk_errors, sync, write_whole
from core.runs.folder import RunFolder
from core.runs.pointers import checkpoint_steps, point, pointed_step
from core.runs.repair import clear_drafts, drop_set_aside
from core.runs.state import OPTIMIZER, WEIGHTS, CheckpointState
from core.runs.tensor_file import write_tensors
from core.system_errors import WorkspaceGoneError


def save_checkpoint(
    run: RunFolder,
    weights: dict[str, Tensor],
    optimizer: dict[str, Tensor],
    state: CheckpointState,
    keep: int,
) -> Path:
    """Write the checkpoint of `state.step`, point `last` (and `best`, if it is) at it, and drop the oldest.

    Args:
        weights: The model's tensors by name; none may share its memory with another.
        optimizer: The optimizer's tensors by name.
        state: Its `sha256` may have files that lie elsewhere; those of the tensors are added.
        keep: How many of the newest to keep, besides the best.

    Returns:
        The checkpoint's folder.

    Raises:
        DiskFullError, WorkspaceError: It could not be written; earlier checkpoints are untouched.
        WorkspaceGoneError: The run's folder is no longer there.
    """
    place = run.checkpoint(state.step)
    draft = run.checkpoints / f".draft-{place.name}"
    if not run.checkpoints.is_dir():  # made when the run began: only somebody else can have removed it
        raise WorkspaceGoneError(run.root)
    with raising_disk_errors(place):
        try:
            clear_drafts(run)
            draft.mkdir()
            sums = {WEIGHTS: write_tensors(draft / WEIGHTS, weights)}
            sums[OPTIMIZER] = write_tensors(draft / OPTIMIZER, optimizer)
            whole = state.model_copy(update={"sha256": state.sha256 | sums})
            write_whole(draft / "state.json", whole.to_json())
            sync(draft)
            move_folder_into_place(draft, place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    if state.best_step == state.step:  # before `last`: a killed run goes on from that, and does not look back
        point(run, "best", state.step)
    point(run, "last", state.step)
    _drop_oldest(run, keep)
    drop_set_aside(run, state.step)
    return place


def _drop_oldest(run: RunFolder, keep: int) -> None:
    pointed = {pointed_step(run, "best"), pointed_step(run, "last")}  # a kill can leave steps after `last`
    for step in checkpoint_steps(run)[:-keep]:
        if step not in pointed:
            _remove(run, run.checkpoint(step))


def _remove(run: RunFolder, place: Path) -> None:
    """Take the checkpoint's name away first, so that a kill leaves a draft and no half of a checkpoint."""
    removed = run.checkpoints / f".draft-{place.name}"
    with suppress(OSError):  # on Windows, while somebody reads it: the next checkpoint tries again
        place.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)
