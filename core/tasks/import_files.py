"""Files and folders into the library: read in worker processes, several at once, and kept one by one."""

import os
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from core.config.corpus import ImportConfig
from core.control import StopToken
from core.corpus.library import CANCELLED, Library, Recorded
from core.documents.document import NO_OCR, Document
from core.documents.folders import FoundFile, find_files, refuse_missing
from core.documents.isolation import KnownBytes, Outcome, ReaderPool
from core.documents.kinds import kind_of_name
from core.errors import (
    EncryptedDocumentError,
    OcrUnavailableError,
    UnsupportedDocumentError,
    UserFacingError,
)
from core.events import Event, FileImported, FileReading, ImportFinished, ImportStarted, Notice
from core.runs.folder import Workspace

POLL_SECONDS = 0.1  # how soon a stop is heard while all workers are busy
MOST_READERS = 32  # Windows waits for 63 pipes at most, and each reader may take its share of memory


def import_files(
    paths: Sequence[Path], config: ImportConfig, workspace: Workspace, stop: StopToken
) -> Generator[Event, None, ImportFinished]:
    """Read files, and everything in folders, into the workspace's library.

    Each file ends in exactly one `FileImported` and stands in the library by then, so whatever ends the program
    costs the files then being read only. When asked to stop, the files that are left are "cancelled".

    Returns:
        The counts: `done` has those with warnings too, `failed` the encrypted ones.

    Raises:
        MissingPathError: One of the paths does not exist; nothing was read.
        WorkspaceError, DiskFullError, DamagedLibraryError: The library cannot be used.
    """
    started = time.monotonic()
    refuse_missing(paths)
    workspace.prepare()
    files: list[FoundFile] = []
    for file in find_files(paths):
        if stop.asked:
            break
        files.append(file)
    yield ImportStarted(len(files), sum(file.bytes for file in files))
    states: Counter[str] = Counter()
    readers = min(os.cpu_count() or 1, MOST_READERS)
    with Library(workspace.library) as library, ReaderPool(config, readers) as pool:
        for event in _Import(library, pool, config, files).events(stop):
            if isinstance(event, FileImported):
                states[event.state] += 1
            yield event
    finished = ImportFinished(
        done=states["done"] + states["warning"],
        duplicates=states["duplicate"],
        unsupported=states["unsupported"],
        failed=states["failed"] + states["encrypted"],
        cancelled=states["cancelled"],
        seconds=time.monotonic() - started,
    )
    yield finished
    return finished


class _Import:
    """The files that wait, those that workers have in hand, and what becomes of them."""

    def __init__(
        self, library: Library, pool: ReaderPool, config: ImportConfig, files: Sequence[FoundFile]
    ) -> None:
        self._library, self._pool, self._config = library, pool, config
        self._waiting = deque(files)
        self._reading: dict[Path, FoundFile] = {}
        self._ocr_noticed = False

    def events(self, stop: StopToken) -> Iterator[Event]:
        while (self._waiting or self._reading) and not stop.asked:
            while self._waiting and self._pool.has_room:
                yield self._start(self._waiting.popleft())
            for path, outcome in self._pool.ended(POLL_SECONDS) if self._reading else ():
                yield from self._end(self._reading.pop(path), outcome)
        yield from self._cancel()

    def _start(self, file: FoundFile) -> Event:
        """Hand a file to a worker, or record at once that it is none that can be read."""
        if file.state:
            return self._fail(file, file.state, file.problem)
        # With forced OCR the same bytes may give another text, and the user asked for that.
        known = self._library.hashes_of_size(file.bytes) if self._config.ocr != "force" else frozenset()
        self._pool.start(file.path, known)
        self._reading[file.path] = file
        return FileReading(_ledger_path(file.path))

    def _end(self, file: FoundFile, outcome: Outcome) -> Iterator[Event]:
        if isinstance(outcome, Document):
            yield from self._notice_ocr(outcome.ocr_notice)
            recorded = self._library.record(_ledger_path(file.path), outcome, file.bytes)
            yield _imported(file, recorded, outcome)
        elif isinstance(outcome, KnownBytes):
            yield from self._end_known(file, outcome)
        else:
            if isinstance(outcome, OcrUnavailableError):
                yield from self._notice_ocr(f"{outcome.message} {outcome.remedy}")
            yield self._fail(file, _state_of(outcome), outcome.message)

    def _end_known(self, file: FoundFile, known: KnownBytes) -> Iterator[Event]:
        recorded = self._library.record_known(_ledger_path(file.path), known.sha256, file.bytes)
        if recorded:
            yield _imported(file, recorded)
        else:  # the document that it repeated was replaced while this file was looked at: read it after all
            self._waiting.appendleft(file)

    def _fail(self, file: FoundFile, state: str, reason: str) -> FileImported:
        path, kind = _ledger_path(file.path), kind_of_name(file.path.name)
        return _imported(file, self._library.record_failure(path, state, reason, kind, file.bytes))

    def _cancel(self) -> Iterator[Event]:
        left = [*self._reading.values(), *self._waiting]
        if not left:
            return
        self._pool.close()
        self._library.record_cancelled(
            (_ledger_path(file.path), kind_of_name(file.path.name), file.bytes) for file in left
        )
        for file in left:
            yield _imported(file, Recorded("cancelled", CANCELLED, kind_of_name(file.path.name)))

    def _notice_ocr(self, text: str) -> Iterator[Notice]:
        """Say once in an import, not once a page, what is missing and how to install it."""
        if text and not self._ocr_noticed:
            self._ocr_noticed = True
            yield Notice(text)


def _imported(file: FoundFile, recorded: Recorded, document: Document | None = None) -> FileImported:
    return FileImported(
        path=_ledger_path(file.path),
        state=recorded.state,
        reason=recorded.reason,
        kind=recorded.kind,
        pages=document.pages if document else 0,
        characters=len(document.text) if document else 0,
        document_id=recorded.document_id,
        confidence=document.confidence if document else NO_OCR,
        bytes=file.bytes,
    )


def _state_of(error: UserFacingError) -> str:
    if isinstance(error, EncryptedDocumentError):
        return "encrypted"
    return "unsupported" if isinstance(error, UnsupportedDocumentError) else "failed"


def _ledger_path(path: Path) -> str:
    """The path as text that a database and a JSON line can hold: bytes of a name that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
