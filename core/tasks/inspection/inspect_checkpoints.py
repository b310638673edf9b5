"""The request to look at one phrase through training: the checkpoints of a run, one after the other, in one model."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.control import Returning, StopRequested, StopToken
from core.errors.runs import NoCheckpointError, raising_memory_errors
from core.events.base import Event, Notice, Task
from core.inspection.captured import MeasuredPass
from core.inspection.inspected import Inspected
from core.inspection.quantities import measure
from core.runs.pointers import saved_steps
from core.tasks.inspection.inspect_phrase import InspectRequest, PassAdvanced, inspect_loaded
from core.tasks.models.run_checkpoints import SKIPPED, RunCheckpoints, open_step


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointInspected(Event):
    """A phrase was computed at one checkpoint of a run.

    `done` counts the checkpoints that are behind, of `total`, with those that were left out. `measured` is None where
    the attention or the states were not to be kept.
    """

    inspected: Inspected
    measured: MeasuredPass | None
    done: int
    total: int


def inspect_step(
    checkpoints: RunCheckpoints, step: int, request: InspectRequest, stop: StopToken
) -> Task[Inspected | None]:
    """A phrase at one checkpoint.

    Returns:
        The phrase with its numbers; None where `stop` was set before they were whole.

    Raises:
        UnknownRunError, NoCheckpointError, DamagedCheckpointError, WrongShapeError and others: As for `open_model`.
        EmptyPhraseError: The phrase has no token.
    """
    with raising_memory_errors():
        try:
            loaded = open_step(checkpoints, step, stop)
        except StopRequested:
            return None
        return (yield from inspect_loaded(checkpoints.name, loaded, request, stop))


def inspect_checkpoints(
    checkpoints: RunCheckpoints, request: InspectRequest, stop: StopToken, steps: Sequence[int] = ()
) -> Task[tuple[MeasuredPass, ...]]:
    """A phrase at every checkpoint, each told when it is there; nothing of them is kept here but what is measured.

    A checkpoint that has gone since, is damaged or of another shape is left out with a notice. Ends early where `stop`
    is set.

    Args:
        steps: Which checkpoints, in this order; by default all of them, ascending.

    Returns:
        What was measured, in the order in which it was.

    Raises:
        UnknownRunError: There is no such run, or no more.
        NoCheckpointError: There is none at all.
        DamagedRunError: No checkpoint of the run can be opened.
        EmptyPhraseError: The phrase has no token.
    """
    chosen = steps or saved_steps(checkpoints.run)
    if not chosen:
        raise NoCheckpointError(checkpoints.name, "last", "")
    kept: list[MeasuredPass] = []
    for done, step in enumerate(chosen, start=1):
        try:
            opened = Returning(inspect_step(checkpoints, step, request, stop))
            yield from (event for event in opened if not isinstance(event, PassAdvanced))
        except SKIPPED as error:
            yield Notice(f"Step {step:,} is left out. {error.message}")
            continue
        inspected = opened.result
        if inspected is None or stop.asked:
            break
        measured = measure(inspected) if request.what.attention and request.what.states else None
        if measured is not None:
            kept.append(measured)
        yield CheckpointInspected(inspected, measured, done, len(chosen))
    return tuple(kept)
