"""What a kill or a failing disk left in a run's folder, put right before the run goes on."""

import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress

from filelock import FileLock, Timeout

from core.errors import DamagedCheckpointError
from core.events import CheckpointSaved
from core.runs.catalog import is_run
from core.runs.files import clear_drafts_in
from core.runs.folder import RunFolder, Workspace
from core.runs.pointers import (
    best_step_of,
    check_whole,
    checkpoint_steps,
    lost_pointers,
    point,
    pointed_step,
    state_or_none,
)

STUB_FILES = {".lock", "checkpoints", "tokenizer.json", "dataset.json"}
ASIDE = ".damaged-"  # how the folder of a damaged checkpoint is called, until the run has come past its step again


def repair_checkpoints(run: RunFolder) -> list[str]:
    """Make `last` and `best` name checkpoints that are whole, the newest and the best of these.

    A damaged one of those that they named is set aside, so that it keeps no whole one from its place. Only for
    whoever holds the run's lock.

    Returns:
        A sentence for each thing that was put right.

    Raises:
        DamagedCheckpointError: No checkpoint is whole; nothing was changed. What is wrong with the newest is told.
    """
    clear_drafts(run)
    last, best = pointed_step(run, "last"), pointed_step(run, "best")
    if last is None or best is None:
        return []
    sound = _newest_whole(run, last)
    lost_best = best != sound and (best in range(sound + 1, last + 1) or _is_damaged(run, best))
    sentences = [f"The file that names the {which} checkpoint was damaged." for which in lost_pointers(run)]
    for step in (step for step in checkpoint_steps(run) if sound < step <= last):
        _set_aside(run, step)
    point(run, "last", sound)
    if sound != last:
        sentences.append(
            f"The checkpoint of step {last:,} is damaged, so the run goes on from step {sound:,}."
        )
    if lost_best:
        _set_aside(run, best)
        best = best_step_of(run) or sound
        sentences.append(
            f"The best checkpoint is damaged; of those that are left, step {best:,} is the best."
        )
    point(run, "best", best)
    return sentences


def clear_drafts(run: RunFolder) -> None:
    """Remove what a killed writer left behind. A folder moved aside goes back if its successor never came."""
    for leftover in run.checkpoints.glob(".old-step-*"):
        place = run.checkpoints / leftover.name.removeprefix(".old-")
        if place.exists():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.rename(place)
    for draft in run.checkpoints.glob(".draft-*"):
        shutil.rmtree(draft, ignore_errors=True)
    for folder in (run.root, run.checkpoints):
        clear_drafts_in(folder)


def drop_set_aside(run: RunFolder, step: int) -> None:
    """Remove damaged checkpoints of steps up to `step`, which the run has taken again."""
    for folder in run.checkpoints.glob(f"{ASIDE}step-*"):
        number = folder.name.removeprefix(f"{ASIDE}step-")
        if number.isdecimal() and int(number) <= step:
            shutil.rmtree(folder, ignore_errors=True)


def missing_saves(run: RunFolder, told: Collection[int], until: int) -> Iterator[CheckpointSaved]:
    """What a kill kept a journal from telling: the checkpoints up to a step that stand and are not in `told`."""
    for step in checkpoint_steps(run):
        state = state_or_none(run, step)
        if step <= until and step not in told and state is not None:
            place = run.checkpoint(step)
            size = sum(path.stat().st_size for path in place.iterdir())
            yield CheckpointSaved(step, str(place), state.best_step == step, size, seconds=0.0)


def remove_stub(run: RunFolder) -> None:
    """Remove the folder of a training that ended before it was a run. Only for whoever holds the run's lock."""
    if not is_run(run) and {path.name for path in run.root.iterdir()} <= STUB_FILES:
        shutil.rmtree(run.root, ignore_errors=True)


def remove_stubs(workspace: Workspace) -> None:
    """Remove the folders of all trainings that were killed before they were runs."""
    for run in map(RunFolder, workspace.runs.glob("*")):
        if is_run(run) or not run.lock.exists():
            continue
        with suppress(Timeout, OSError), FileLock(run.lock, timeout=0, thread_local=False):
            clear_drafts(run)
            remove_stub(run)


def _newest_whole(run: RunFolder, last: int) -> int:
    newest_damage: DamagedCheckpointError | None = None
    for step in sorted((step for step in checkpoint_steps(run) if step <= last), reverse=True):
        try:
            check_whole(run, step)
        except DamagedCheckpointError as damage:
            newest_damage = newest_damage or damage
        else:
            return step
    assert newest_damage is not None, "`last` names a checkpoint that is there"
    raise newest_damage


def _is_damaged(run: RunFolder, step: int) -> bool:
    try:
        check_whole(run, step)
    except DamagedCheckpointError:
        return True
    return False


def _set_aside(run: RunFolder, step: int) -> None:
    place = run.checkpoint(step)
    if place.exists():
        aside = place.with_name(ASIDE + place.name)
        shutil.rmtree(aside, ignore_errors=True)
        place.rename(aside)
