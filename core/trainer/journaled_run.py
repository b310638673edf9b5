"""A run that trains, with each of its events in the run's journal before anybody else sees it."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from core.batches.dataset import Dataset
from core.batches.distributed import ONE_PROCESS, ProcessGroup
from core.config.doctor import DoctorConfig
from core.config.run import RunConfig
from core.config.toml import run_to_toml
from core.control import StopRequested, StopToken
from core.diagnosis.doctor import Doctor, divergence
from core.disk.files import write_whole
from core.errors.runs import RunFinishedError, TrainingDivergedError, raising_memory_errors
from core.errors.system import WorkspaceGoneError
from core.events.base import Notice, Task
from core.events.runs import CheckpointBegun, CheckpointSaved, EndMoved, Evaluated, RunEnded, RunPrepared
from core.planning.expectation import Learned, expected_curve, is_foreseeable
from core.planning.step_times import remembering_times
from core.runs.catalog import read_config
from core.runs.folder import RunFolder, Workspace
from core.runs.history import RunHistory
from core.runs.journal import Journal, has_ended, last_event, read_events, rewind
from core.runs.pointers import pointed_step
from core.runs.repair import missing_saves
from core.runs.rollback import roll_back
from core.runs.state import read_state
from core.trainer.keep_awake import kept_awake
from core.trainer.tensorboard_files import with_tensorboard
from core.trainer.text_bits import text_bits


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the main process tells the others of the run that they train together."""

    config: RunConfig
    dataset: str  # its folder's name
    back_to: int | None


def train_run(
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset | None,
    stop: StopToken,
    changed: Sequence[str] = (),
    group: ProcessGroup = ONE_PROCESS,
    back_to: int | None = None,
) -> Task[RunEnded]:
    """Train, and write every event into the run's journal before anybody else sees it.

    Args:
        changed: What changed settings do to the run, to be said once it is certain that they hold.
        group: This process among those that train the run; the main one alone writes its settings and its journal.
        back_to: The step of an earlier checkpoint to continue from. Nothing is set aside before it is loaded.
    """
    _announce(group, config, dataset, back_to)
    if dataset is None:
        return (yield from _stopped(folder))
    from core.trainer.preparation import open_session
    from core.trainer.run_loop import evaluation_was_missed, run_session  # here, because these import torch

    with raising_memory_errors():
        try:
            session = yield from open_session(
                *(workspace, folder, config, dataset, stop, group),
                back_to,
            )
        except StopRequested:
            return (yield from _stopped(folder))
        except RunFinishedError:
            # the main process decides: it writes what the others would read
            if group.broadcast(group.is_main and (has_ended(folder.events) or config != read_config(folder))):
                raise
            # it was killed before it could report its end
            return (yield from _finish_journal(folder, "finished", group))
        if session is None:
            return (yield from _stopped(folder))
        if session.early_stopping.is_over:
            if group.broadcast(group.is_main and _was_cut_off(folder) and config == read_config(folder)):
                return (yield from _finish_journal(folder, "early_stopped", group))
            session.early_stopping.count_anew()
        events = run_session(session, stop)
        if group.is_main:
            if back_to is not None and (sentence := roll_back(folder, back_to)):
                yield Notice(sentence)
            write_whole(folder.config, run_to_toml(config))  # not before: a refused choice leaves no trace
            events = _foreseen(events, workspace, folder, config, dataset, stop)
            events = _watched(events, folder, config.doctor, session.progress.step)
            events = _journaled(events, folder, session.progress.step, evaluation_was_missed(session))
            events = remembering_times(events, workspace, config, dataset.val_tokens)
            if config.training.tensorboard:
                events = with_tensorboard(events, folder, session.progress.step)
        for sentence in changed:
            yield Notice(sentence)
        with kept_awake(config.training.keep_awake), closing(events):
            for event in events:
                yield event
    assert isinstance(event, RunEnded)
    return event


def _announce(group: ProcessGroup, config: RunConfig, dataset: Dataset | None, back_to: int | None) -> None:
    """Tell the other processes what begins; None where nothing does, for it was stopped."""
    if group.is_main:
        group.broadcast(None if dataset is None else Beginning(config, dataset.folder.name, back_to))


def _foreseen(
    events: Task[None],
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset,
    stop: StopToken,
) -> Task[None]:
    """The events; where the run begins, with what is expected of it, and where it goes on, with what was."""
    before = [event for event in read_events(folder.events) if isinstance(event, RunPrepared)]
    with closing(events):
        for event in events:
            if isinstance(event, RunPrepared):
                tokens_per_step = event.tokens_per_step
                curve = before[-1].expected if before and event.start_step else ()
            elif not isinstance(event, EndMoved):
                yield event
                continue
            if is_foreseeable(config) and not (curve and curve[-1][0] == event.max_steps):
                steps = event.max_steps
                curve = _curve(steps, tokens_per_step, workspace, config, dataset, stop) or curve
            yield replace(event, expected=curve)


def _curve(
    steps: int,
    tokens_per_step: int,
    workspace: Workspace,
    config: RunConfig,
    dataset: Dataset,
    stop: StopToken,
) -> tuple[tuple[int, float, float], ...]:
    """What is expected of a run; nothing where it is not known how hard its text is."""
    try:
        bits = text_bits(workspace, config, stop)
    except StopRequested:  # the session ends as it does at any stop
        return ()
    if not bits:
        return ()
    learned = Learned(bits, dataset.bytes_per_token * dataset.train_tokens, dataset.bytes_per_token)
    return expected_curve(learned, tokens_per_step, steps)


def _watched(events: Task[None], folder: RunFolder, config: DoctorConfig, step: int) -> Task[None]:
    """The events, and behind each what the doctor says about the run's curves. `step` is the one they begin after."""
    doctor = Doctor(config)
    if config.enabled and step:
        history = RunHistory()
        history.extend(read_events(folder.events))
        history.cut_after(step)
        doctor.review(history)  # said already, where it still holds
    try:
        with closing(events):
            for event in events:
                yield event
                yield from doctor.take(event)
    except TrainingDivergedError as error:
        if config.enabled:
            yield divergence(error)
        raise


def _journaled(events: Task[None], folder: RunFolder, step: int, evaluates_again: bool) -> Task[None]:
    """The events, each written into the journal before it is passed on. `step` is the one they begin after."""
    with closing(events), _journal_until(folder, step, evaluates_again) as journal:
        for event in events:
            if isinstance(event, RunEnded):
                _check_kept(folder, event.step)
            if not isinstance(event, CheckpointBegun):  # of which CheckpointSaved is the outcome
                journal.append(event)
            if isinstance(event, Evaluated | CheckpointSaved | RunEnded):
                journal.sync()  # before a checkpoint too: a power cut must not leave it without its past
            yield event


@contextmanager
def _journal_until(folder: RunFolder, step: int, evaluates_again: bool = False) -> Iterator[Journal]:
    """The run's journal as it was after a step, or before that step's evaluation, open for what comes next."""
    rewind(folder.events, step, evaluates_again)
    reported = {event.step for event in read_events(folder.events) if isinstance(event, CheckpointSaved)}
    with Journal(folder.events) as journal:
        for saved in missing_saves(folder, reported, until=step - evaluates_again) if step else ():
            journal.append(saved)
        yield journal


def _was_cut_off(folder: RunFolder) -> bool:
    """Whether a run was killed before it could report its end, and has not been resumed since."""
    return not isinstance(last_event(folder.events), RunEnded | RunPrepared)


def _finish_journal(folder: RunFolder, reason: str, group: ProcessGroup) -> Task[RunEnded]:
    """The end of a run that has come to it, written late, by the main process alone."""
    step = pointed_step(folder, "last") or 0
    state = read_state(folder.checkpoint(step))
    ended = RunEnded(folder.name, step, reason, state.best_val_loss, state.seconds)
    if group.is_main:
        with _journal_until(folder, step) as journal:
            journal.append(ended)
            journal.sync()
    yield ended
    return ended


def _check_kept(folder: RunFolder, step: int) -> None:
    """See that what was reported as saved is there.

    Raises:
        WorkspaceGoneError: Somebody removed it while the run was under way.
    """
    if not (folder.config.exists() and folder.checkpoint(step).is_dir()):
        raise WorkspaceGoneError(folder.root)


def _stopped(folder: RunFolder) -> Task[RunEnded]:
    """The end of a run that was stopped before its next step could begin."""
    ended = RunEnded(folder.name, pointed_step(folder, "last") or 0, "stopped", None, 0.0)
    yield ended
    return ended
