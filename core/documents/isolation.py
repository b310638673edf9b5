"""Files read in worker processes, each with a limit on time and memory, so that a hostile file costs itself only.

Each worker has a pipe of its own and one file at a time. So whatever becomes of a worker, it is known which file
it had, no other worker shares a lock or a half-sent message with it, and it can be killed at once. That is why
this is not a ready-made pool: those share one queue among all workers, and lose the queue with a worker that dies
at the wrong moment.
"""

import hashlib
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from core.config.corpus import ImportConfig
from core.documents.document import Document
from core.errors import UnreadableDocumentError, UserFacingError

READY = "ready"
GRACE_SECONDS = 5.0  # for a worker to start, and for a reader that keeps its own time to end by itself
MEBIBYTE = 1024 * 1024
LIBRARY_BYTES = 192 * MEBIBYTE  # of address space before the first file: 148 MiB measured on Linux

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownBytes:
    """A file that was not read, because its bytes are known already."""

    sha256: str


Outcome = Document | KnownBytes | UserFacingError
Reader = Callable[[Path, ImportConfig], Document]


class FileRead(NamedTuple):
    """A file has come to its end."""

    path: Path
    outcome: Outcome


class _Request(NamedTuple):
    path: Path
    known: frozenset[str]


class ReaderPool:
    """Worker processes, started as they are needed and kept until the pool is closed.

    Args:
        config: The limits, and how files are read.
        workers: The most files that are read at once.
        reader: What a worker does with a file. It travels by name to the workers.
    """

    def __init__(self, config: ImportConfig, workers: int, reader: Reader | None = None) -> None:
        self._config, self._workers, self._reader = config, workers, reader
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}
        self._scratch = tempfile.TemporaryDirectory(prefix="reading-", ignore_cleanup_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def has_room(self) -> bool:
        """True where a file that is started now is read at once."""
        return len(self._busy) < self._workers

    @property
    def reading(self) -> list[Path]:
        """The files that workers have in hand."""
        return [worker.path for worker in self._busy.values()]

    def start(self, path: Path, known: frozenset[str] = frozenset()) -> None:
        """Hand a file to an idle worker. A file whose SHA-256 is in `known` is not read further."""
        worker = self._next_worker()
        worker.start(_Request(path, known))
        self._busy[worker.connection] = worker

    def ended(self, wait_seconds: float) -> list[FileRead]:
        """The files that came to their end, good or bad. Waits for news, but not longer than given.

        Raises:
            RuntimeError: Workers cannot be started here, which is no file's fault.
        """
        news = wait(list(self._busy), wait_seconds)
        speaking = [worker for connection, worker in self._busy.items() if connection in news]
        ended = [read for worker in speaking if (read := self._hear(worker))]
        # Only those that said nothing can be late: a pause in asking is not the worker's fault.
        late = [worker for worker in self._busy.values() if worker.seconds > self._hard_limit]
        return ended + [self._give_up(worker) for worker in late]

    def close(self) -> None:
        """End every worker at once, in the middle of a file if need be."""
        for worker in [*self._idle, *self._busy.values()]:
            worker.kill()
        self._idle.clear()
        self._busy.clear()
        self._scratch.cleanup()

    @property
    def _hard_limit(self) -> float:
        return self._config.file_seconds + GRACE_SECONDS

    def _next_worker(self) -> "_Worker":
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            worker.kill()  # something else ended it, and no file should be blamed
        return _Worker(self._config, self._reader, self._scratch.name)

    def _hear(self, worker: "_Worker") -> FileRead | None:
        """What a worker has to say of its file; None where it only says that it is ready to begin."""
        try:
            outcome: Outcome | str = worker.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError) as cause:  # it died, perhaps while it spoke
            return self._bury(worker, cause)
        if isinstance(outcome, str):
            worker.begin()
            return None
        del self._busy[worker.connection]
        self._idle.append(worker)
        for note in getattr(outcome, "__notes__", ()):
            log.info("the reader of %s failed:\n%s", worker.path, note)
        return FileRead(worker.path, outcome)

    def _bury(self, worker: "_Worker", cause: Exception) -> FileRead:
        del self._busy[worker.connection]
        worker.kill(patience_seconds=1)
        if not worker.has_begun:
            raise RuntimeError(f"a reader could not be started: it ended with {worker.exit_code}") from cause
        log.info("the reader of %s died: %r", worker.path, cause)
        reason = f"its reader crashed{_name_exit(worker.exit_code)}"
        return FileRead(worker.path, UnreadableDocumentError(worker.path, reason))

    def _give_up(self, worker: "_Worker") -> FileRead:
        del self._busy[worker.connection]
        worker.kill()
        seconds = self._config.file_seconds
        reason = f"it took longer than {seconds:,} second{'s' * (seconds != 1)}"
        return FileRead(worker.path, UnreadableDocumentError(worker.path, reason))


class _Worker:
    """One process, and this side's end of its pipe."""

    def __init__(self, config: ImportConfig, reader: Reader | None, scratch: str) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy a window's threads and locks
        self.connection, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, config, reader, scratch), name="reader", daemon=True
        )
        _start_deaf(self._process)
        theirs.close()  # so that this end hears when the worker dies
        self._request = _Request(Path(), frozenset())
        self._started = 0.0
        self.has_begun = False

    @property
    def path(self) -> Path:
        return self._request.path

    @property
    def seconds(self) -> float:
        """Since the file in hand was given."""
        return time.monotonic() - self._started

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode

    def start(self, request: _Request) -> None:
        self._request, self._started = request, time.monotonic()
        try:
            self.connection.send(request)
        except ConnectionError:
            log.info("a reader died as it was given a file")  # `ended` finds the pipe closed, and says so

    def begin(self) -> None:
        """It has imported what it needs: only now does the file's time run."""
        self.has_begun, self._started = True, time.monotonic()

    def kill(self, patience_seconds: float = 0) -> None:
        """End the process and what it started, such as Tesseract.

        A process that is dying by itself is waited for a moment, so that its exit code tells how it died.
        """
        self._process.join(patience_seconds)
        if self._process.exitcode is None:
            _kill_group(self._process.pid)
            self._process.kill()
        self._process.join()
        self.connection.close()


def _start_deaf(process: BaseProcess) -> None:
    """Start a process that never hears Ctrl+C: it would die of one that comes before it can ignore it."""
    if sys.platform == "win32":
        process.start()
        return
    resource_tracker.ensure_running()  # now, because its own start would end the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill_group(pid: int | None) -> None:
    if sys.platform == "win32" or not pid:
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # it has not made its group yet, and so has started nothing


def _name_exit(code: int | None) -> str:
    if code is None or code >= 0:
        return ""
    names = {number.value: number.name for number in signal.Signals}
    return f" ({names.get(-code, f'signal {-code}')})"


# From here on: inside the worker


def _serve(connection: Connection, config: ImportConfig, reader: Reader | None, scratch: str) -> None:
    """Read files until the other side closes the pipe."""
    _settle_in(scratch)
    # Imported here: these libraries are for workers, and would keep the window waiting.
    from core.documents.reading import read_document

    _limit_memory(config.memory_mib * MEBIBYTE)
    connection.send(READY)
    while True:
        try:
            request = connection.recv()
        except (EOFError, ConnectionError):
            return  # the program is gone
        _answer(connection, request.path, partial(_read, request, config, reader or read_document))


def _settle_in(scratch: str) -> None:
    """Make this process one that harms nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows: Ctrl+C is for the program, which ends its workers
    os.environ["OMP_THREAD_LIMIT"] = "1"  # Tesseract's: there are as many workers as cores already
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, whose threads would each reserve address space
    tempfile.tempdir = scratch  # what a killed worker leaves is swept up with the pool
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it talks about every flaw of every file,
    warnings.simplefilter("ignore")  # and so does Pillow
    if sys.platform != "win32":
        os.setsid()  # its own group, so that it and its Tesseract can be killed together


def _limit_memory(file_bytes: int) -> None:
    """Let a file take so much on top of what the program and its libraries take."""
    if sys.platform == "win32":
        return
    import resource  # not on Windows

    limit = LIBRARY_BYTES + file_bytes
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ValueError, OSError):
        log.info("this system sets no limit on memory")


def _read(request: _Request, config: ImportConfig, reader: Reader) -> Outcome:
    sha256 = _hash(request.path) if request.known else ""
    return KnownBytes(sha256) if sha256 in request.known else reader(request.path, config)


def _hash(path: Path) -> str:
    """The file's SHA-256, or "" where it cannot be read: the reader then says why."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _answer(connection: Connection, path: Path, read: Callable[[], Outcome]) -> None:
    """Send what became of the file. The worker's outermost frame: nothing above it could listen."""
    try:
        connection.send(read())
    except UserFacingError as error:
        connection.send(error)
    except MemoryError:
        connection.send(UnreadableDocumentError(path, "it needs more memory than its reader may have"))
    except ConnectionError:
        return
    except Exception as error:  # a library's own defect: told as this file's failure, its trace in a note
        failure = UnreadableDocumentError(path, f"its reader failed with {type(error).__name__}")
        failure.add_note(traceback.format_exc())
        connection.send(failure)
