"""The request "train a model": from the library's documents to a run with checkpoints, as a stream of events.

torch is imported only when the stream is asked for its first event, so that a window can import this file.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from filelock import FileLock, Timeout

from core.batches.dataset import Dataset, read_dataset
from core.config.resuming import explain_changes
from core.config.run import RunConfig
from core.config.toml import checked, run_to_toml, with_settings
from core.control import StopRequested, StopToken
from core.corpus.library import Library
from core.errors import (
    BadSettingError,
    CorpusTooSmallError,
    DamagedDatasetError,
    DamagedRunError,
    LostDatasetError,
    OutOfMemoryError,
    RunBusyError,
    RunExistsError,
    RunFinishedError,
)
from core.events import CheckpointSaved, Evaluated, Event, Notice, RunEnded
from core.runs.catalog import Catalog, is_run, read_config
from core.runs.files import raising_disk_errors, write_whole
from core.runs.folder import RunFolder, Workspace
from core.runs.journal import Journal, has_ended, read_events, rewind
from core.runs.pointers import POINTERS, pointed_step
from core.runs.repair import adopt_first_format, missing_saves, remove_stub, remove_stubs, repair_checkpoints
from core.runs.state import read_state
from core.system_errors import WorkspaceGoneError
from core.tasks.build_tokenizer import build_dataset, dataset_name
from core.tasks.unused_datasets import take_back

Stream = Generator[Event, None, RunEnded]

LOOK_SECONDS = 0.3  # somebody may hold a run's lock for a moment, to see whether it is held
CHANGEABLE = ("training.", "sampling.")  # by a run that goes on; the rest made its weights or its tokens


def train_model(workspace: Workspace, name: str, config: RunConfig, stop: StopToken) -> Stream:
    """Train a new run to its last step, or until `stop` is set; then it can be resumed.

    Stopped before its first checkpoint, it leaves no run, and its name is free.

    Raises:
        RunExistsError, BadRunNameError: The name is taken, or cannot be one. Nothing is changed.
        EmptyCorpusError, CorpusTooSmallError: There is not enough text.
        DiskFullError, TrainingDivergedError, OutOfMemoryError: Training ended early; checkpoints are kept.
    """
    folder = workspace.run(name)
    remove_stubs(workspace)
    if is_run(folder):
        raise RunExistsError(name)
    dataset = yield from _build(workspace, config, stop)
    if dataset is None:
        return (yield from _train(workspace, folder, config, None, stop))
    with _held(folder):
        if is_run(folder):  # another process was faster
            raise RunExistsError(name)
        _lay_out(folder, dataset)
        return (yield from _train(workspace, folder, config, dataset, stop))


def resume_run(workspace: Workspace, name: str, changes: dict[str, Any], stop: StopToken) -> Stream:
    """Go on with a run from its last checkpoint that is whole, as if it had never stopped.

    Args:
        changes: Settings of `training` and `sampling` to change from here on, by dotted name.

    Raises:
        UnknownRunError, RunBusyError, RunFinishedError, DamagedCheckpointError: As their names say.
        BadSettingError: A change that would make it another model. No change is kept where one of these is raised.
    """
    catalog = Catalog(workspace)
    folder = catalog.folder(name)
    before = catalog.config(name)
    config = with_settings(before, changes)
    for setting in changes:
        if not setting.startswith(CHANGEABLE):
            raise BadSettingError(setting, "cannot change once a run has begun")
    with _held(folder):
        changed: list[str] = []
        try:
            for sentence in repair_checkpoints(folder, stop):
                yield Notice(sentence)
            changed = _explained_changes(folder, before, config)
            dataset = yield from _dataset_of(workspace, folder, config, stop)
        except StopRequested:
            dataset = None
        return (yield from _train(workspace, folder, config, dataset, stop, changed))


@contextmanager
def _held(folder: RunFolder) -> Iterator[None]:
    """Keep other processes from training this run."""
    lock = FileLock(folder.lock, thread_local=False)
    with raising_disk_errors(folder.root):
        folder.root.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=LOOK_SECONDS)
        except Timeout as cause:
            raise RunBusyError(folder.name) from cause
    try:
        yield
    finally:
        if folder.root.exists():
            remove_stub(folder)
        lock.release()


def _lay_out(folder: RunFolder, dataset: Dataset) -> None:
    """Write what a run needs before it can begin; it is one from when `_train` adds its settings."""
    with raising_disk_errors(folder.root):
        folder.checkpoints.mkdir(exist_ok=True)
    write_whole(folder.tokenizer, dataset.tokenizer.read_bytes())
    write_whole(folder.dataset, dataset.to_json())


def _explained_changes(folder: RunFolder, before: RunConfig, config: RunConfig) -> list[str]:
    """What the settings that differ from those until now do to the run; a run without a checkpoint begins again.

    Raises:
        BadSettingError: One of them made the run what it is.
        DamagedRunError: The run had checkpoints, and all of them are gone.
    """
    last = pointed_step(folder, "last")
    if last is None:
        _refuse_lost_checkpoints(folder)
        return []
    adopt_first_format(folder, last, before)
    return explain_changes(read_state(folder.checkpoint(last)).settings, config)


def _refuse_lost_checkpoints(folder: RunFolder) -> None:
    had_some = any(isinstance(event, CheckpointSaved) for event in read_events(folder.events))
    if had_some or any((folder.checkpoints / which).exists() for which in POINTERS):
        raise DamagedRunError(folder.name, "its checkpoints are gone")


def _dataset_of(
    workspace: Workspace, folder: RunFolder, config: RunConfig, stop: StopToken
) -> Generator[Event, None, Dataset | None]:
    """The data set that the run began with, whatever became of the library since.

    Raises:
        LostDatasetError: It is gone, and the library no longer holds what it was made of.
        StopRequested: `stop` was set while its files were compared.
    """
    last = pointed_step(folder, "last")
    if last is None:  # killed before its first checkpoint: it begins again
        dataset = yield from _build(workspace, config, stop)
        if dataset is not None:
            _lay_out(folder, dataset)
        return dataset
    state = read_state(folder.checkpoint(last))
    place = workspace.datasets / state.dataset
    take_back(place)
    try:
        return read_dataset(place, stop)
    except DamagedDatasetError as damage:
        trained_with = checked(RunConfig, state.settings)
        if _dataset_name(workspace, trained_with) != state.dataset:
            raise LostDatasetError(*damage.args) from damage
        return (yield from _build(workspace, trained_with, stop))


def _dataset_name(workspace: Workspace, config: RunConfig) -> str:
    with Library(workspace.library) as library:
        return dataset_name(library, config)


def _build(
    workspace: Workspace, config: RunConfig, stop: StopToken
) -> Generator[Event, None, Dataset | None]:
    """The data set of the library as it is now; None where `stop` was set before it stood."""
    workspace.prepare()
    with Library(workspace.library) as library:
        dataset = yield from build_dataset(library, config, workspace, stop)
    if dataset is not None:
        _check_size(dataset, config)
    return dataset


def _check_size(dataset: Dataset, config: RunConfig) -> None:
    needed = config.model.context_length + 1  # a window, and the token that follows its last
    if dataset.train_tokens < needed:
        raise CorpusTooSmallError("training", dataset.train_tokens, needed)


def _train(
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset | None,
    stop: StopToken,
    changed: Sequence[str] = (),
) -> Stream:
    """Train, and write every event into the run's journal before anybody else sees it.

    Args:
        changed: What changed settings do to the run, to be said once it is certain that they hold.
    """
    if dataset is None:
        return (yield from _stopped(folder))
    from core.tasks.training_run import evaluation_was_missed, run_session  # here, because these import torch
    from core.tasks.training_session import open_session

    with raising_memory_errors():
        try:
            session = yield from open_session(workspace, folder, config, dataset, stop)
        except StopRequested:
            return (yield from _stopped(folder))
        except RunFinishedError:
            if has_ended(folder.events) or config != read_config(folder):
                raise
            return (yield from _finish_journal(folder))  # it was killed before its end was in the journal
        if session is None:
            return (yield from _stopped(folder))
        write_whole(folder.config, run_to_toml(config))  # only now: a choice that was refused leaves no trace
        for sentence in changed:
            yield Notice(sentence)
        with _journal_until(folder, session.progress.step, evaluation_was_missed(session)) as journal:
            for event in run_session(session, stop):
                if isinstance(event, RunEnded):
                    _check_kept(folder, event.step)
                journal.append(event)
                if isinstance(event, Evaluated | CheckpointSaved | RunEnded):
                    journal.sync()  # before a checkpoint too: a power cut must not leave it without its past
                yield event
    assert isinstance(event, RunEnded)
    return event


@contextmanager
def _journal_until(folder: RunFolder, step: int, evaluates_again: bool = False) -> Iterator[Journal]:
    """The run's journal as it was after a step, or before that step's evaluation, open for what comes next."""
    rewind(folder.events, step, evaluates_again)
    reported = {event.step for event in read_events(folder.events) if isinstance(event, CheckpointSaved)}
    with Journal(folder.events) as journal:
        for saved in missing_saves(folder, reported, until=step - evaluates_again) if step else ():
            journal.append(saved)
        yield journal


def _finish_journal(folder: RunFolder) -> Stream:
    """The end of a run that has taken all its steps, written late."""
    step = pointed_step(folder, "last") or 0
    state = read_state(folder.checkpoint(step))
    ended = RunEnded(folder.name, step, "finished", state.best_val_loss, state.seconds)
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


def _stopped(folder: RunFolder) -> Stream:
    """The end of a run that was stopped before its next step could begin."""
    ended = RunEnded(folder.name, pointed_step(folder, "last") or 0, "stopped", None, 0.0)
    yield ended
    return ended


@contextmanager
def raising_memory_errors() -> Iterator[None]:
    """Turn torch's ways to say that memory is full into a sentence.

    Raises:
        OutOfMemoryError: Anything inside needed more memory than there is.
    """
    try:
        yield
    except MemoryError as cause:
        raise OutOfMemoryError from cause
    except RuntimeError as cause:  # torch.OutOfMemoryError is one, and the CPU allocator's has no class
        if "out of memory" in str(cause) or "DefaultCPUAllocator" in str(cause):
            raise OutOfMemoryError from cause
        raise
