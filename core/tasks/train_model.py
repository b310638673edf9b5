"""The wish "train a model": from the library's documents to a run with checkpoints, as a stream of events.

torch is imported only when the stream is asked for its first event, so that a window can import this file.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from filelock import FileLock, Timeout

from core.batches.dataset import Dataset, read_dataset
from core.config.run import RunConfig
from core.config.toml import run_to_toml, with_settings
from core.control import StopToken
from core.corpus.library import Library
from core.errors import (
    BadSettingError,
    CorpusTooSmallError,
    DamagedDatasetError,
    OutOfMemoryError,
    RunBusyError,
    RunExistsError,
)
from core.events import CheckpointSaved, Event, Notice, RunEnded
from core.runs.catalog import Catalog, checkpoint_steps, newest_sound_step, pointed_step
from core.runs.files import telling_disk_errors, write_whole
from core.runs.folder import RunFolder, Workspace
from core.runs.journal import Journal, rewind
from core.runs.state import read_state
from core.tasks.build_tokenizer import build_dataset

Stream = Generator[Event, None, RunEnded]

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
    if _is_taken(folder):
        raise RunExistsError(name)
    dataset = yield from _build(workspace, config, stop)
    if dataset is None:
        return (yield from _train(workspace, folder, config, None, stop))
    with _held(folder):
        if _is_taken(folder):  # another process was faster
            raise RunExistsError(name)
        _lay_out(folder, dataset)
        return (yield from _train(workspace, folder, config, dataset, stop))


def _is_taken(folder: RunFolder) -> bool:
    """True where a run stands, or checkpoints whose settings are lost; a run killed before either leaves no claim."""
    return folder.config.exists() or bool(checkpoint_steps(folder))


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
    config = with_settings(catalog.config(name), changes)
    for setting in changes:
        if not setting.startswith(CHANGEABLE):
            raise BadSettingError(setting, "cannot change once a run has begun")
    with _held(folder):
        yield from _step_back_over_damage(folder)
        dataset = yield from _dataset_of(workspace, folder, config, stop)
        return (yield from _train(workspace, folder, config, dataset, stop))


@contextmanager
def _held(folder: RunFolder) -> Iterator[None]:
    """Keep other processes from training this run."""
    lock = FileLock(folder.lock, thread_local=False)
    with telling_disk_errors(folder.root):
        folder.root.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout as cause:
            raise RunBusyError(folder.name) from cause
    try:
        yield
    finally:
        lock.release()


def _lay_out(folder: RunFolder, dataset: Dataset) -> None:
    """Write what a run needs before it can begin; it is one from when `_train` adds its settings."""
    with telling_disk_errors(folder.root):
        folder.checkpoints.mkdir(exist_ok=True)
    write_whole(folder.tokenizer, dataset.tokenizer.read_text(encoding="utf-8"))
    write_whole(folder.dataset, dataset.to_json())


def _step_back_over_damage(folder: RunFolder) -> Generator[Event, None, None]:
    """Point `last` at a checkpoint that is whole, and say so where that is an earlier one.

    Raises:
        DamagedCheckpointError: None is.
    """
    last, sound = pointed_step(folder, "last"), newest_sound_step(folder)
    if sound != last:
        write_whole(folder.checkpoints / "last", f"{folder.checkpoint(sound or 0).name}\n")
        yield Notice(f"The checkpoint of step {last:,} is damaged, so the run goes on from step {sound:,}.")


def _dataset_of(
    workspace: Workspace, folder: RunFolder, config: RunConfig, stop: StopToken
) -> Generator[Event, None, Dataset | None]:
    """The data set that the run began with, whatever became of the library since.

    Raises:
        DamagedDatasetError: It is gone, and the library no longer holds what it was made of.
    """
    last = pointed_step(folder, "last")
    if last is None:  # killed before its first checkpoint: it begins again
        dataset = yield from _build(workspace, config, stop)
        if dataset is not None:
            _lay_out(folder, dataset)
        return dataset
    name = read_state(folder.checkpoint(last)).dataset
    try:
        return read_dataset(workspace.datasets / name)
    except DamagedDatasetError:
        dataset = yield from _build(workspace, config, stop)
        if dataset is not None and dataset.name != name:
            raise
        return dataset


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
    workspace: Workspace, folder: RunFolder, config: RunConfig, dataset: Dataset | None, stop: StopToken
) -> Stream:
    """Train, and write every event into the run's journal before anybody else sees it."""
    if dataset is None:
        return (yield from _stopped(folder))
    from core.tasks.training_run import run_session  # here, because these import torch
    from core.tasks.training_session import open_session

    with telling_memory_errors():
        session = yield from open_session(workspace, folder, config, dataset, stop)
        if session is None:
            return (yield from _stopped(folder))
        write_whole(folder.config, run_to_toml(config))  # only now: a choice that was refused leaves no trace
        rewind(folder.events, session.progress.step)
        with Journal(folder.events) as journal:
            for event in run_session(session, stop):
                journal.append(event)
                if isinstance(event, CheckpointSaved | RunEnded):
                    journal.sync()
                yield event
    assert isinstance(event, RunEnded)
    return event


def _stopped(folder: RunFolder) -> Stream:
    """The end of a run that was stopped before its next step could begin."""
    ended = RunEnded(folder.name, pointed_step(folder, "last") or 0, "stopped", None, 0.0)
    yield ended
    return ended


@contextmanager
def telling_memory_errors() -> Iterator[None]:
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
