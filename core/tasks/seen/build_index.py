"""The index over a run's training text: opened, or built first where there is none that can be used."""

import time

import numpy as np
from filelock import FileLock

from core.batches.dataset import Dataset
from core.batches.origins import Origins, Pairs, read_origins
from core.config.run import RunConfig
from core.control import StopToken
from core.datasets.locks import acquire
from core.disk.files import raising_disk_errors
from core.errors.base import UserFacingError
from core.events.base import Task
from core.events.seen import SeenProgress
from core.lake.opening import open_library
from core.runs.folder import Workspace
from core.seen.index import DamagedIndexError, SeenIndex, build_index
from core.tokenizers.encoding import encode_passages
from core.tokenizers.files import load_tokenizer
from core.tokenizers.tokenizer import Tokenizer

INDEX_WAITS = "Another program is building the index of this data set; this one waits for it."
EVENT_SECONDS = 0.1  # between two reports of progress


def open_or_build(
    workspace: Workspace, dataset: Dataset, config: RunConfig, stop: StopToken
) -> Task[SeenIndex]:
    """The index of a data set. One process at a time builds it; the others wait, and open what it built.

    Args:
        config: What the run was trained with.

    Raises:
        StopRequested: `stop` was set before there was one; nothing is left of what was begun.
        IndexRoomError, DiskFullError, WorkspaceError: It cannot be written.
    """
    try:
        return SeenIndex(dataset, stop)
    except DamagedIndexError:
        pass
    lock = FileLock(dataset.folder / ".seen.lock", thread_local=False)
    with raising_disk_errors(dataset.folder):
        yield from acquire(lock, INDEX_WAITS, stop)
    try:
        try:
            return SeenIndex(dataset, stop)  # of whoever had the lock
        except DamagedIndexError:
            yield from _build(workspace, dataset, config, stop)
        return SeenIndex(dataset, stop)
    finally:
        lock.release()


def _build(workspace: Workspace, dataset: Dataset, config: RunConfig, stop: StopToken) -> Task[None]:
    started = time.perf_counter()
    tokenizer = load_tokenizer(dataset.tokenizer)
    yield SeenProgress(dataset.name, 0, dataset.bytes, 0.0)
    documents = read_origins(dataset.folder, "train", dataset.train_sha256)
    if documents is None:
        documents = _derived_origins(workspace, dataset, config, tokenizer, stop)
    tokens = [tokenizer.token_bytes(token_id) for token_id in range(tokenizer.vocab_size)]
    reported = 0.0
    for done, total in build_index(dataset, tokens, documents, stop):
        seconds = time.perf_counter() - started
        if seconds >= reported + EVENT_SECONDS:
            reported = seconds
            yield SeenProgress(dataset.name, done, total, seconds)


def _derived_origins(
    workspace: Workspace, dataset: Dataset, config: RunConfig, tokenizer: Tokenizer, stop: StopToken
) -> Pairs | None:
    """The documents of a data set that an earlier version built; None where the library gives other texts now."""
    origins = Origins()
    tokens, at = dataset.tokens("train"), 0
    try:
        with open_library(workspace) as library:
            passages = origins.noted(library.passages("train", config.corpus, config.cleaning))
            for encoded in encode_passages(tokenizer, passages):
                stop.raise_if_asked()
                if not np.array_equal(encoded.ids, tokens[at : at + len(encoded.ids)]):
                    return None
                at += len(encoded.ids)
    except UserFacingError:  # whoever opens the library says what is wrong with it
        return None
    return origins.pairs if at == len(tokens) else None
