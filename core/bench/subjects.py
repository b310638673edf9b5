"""Subjects of a benchmark that work in a process of their own, so that each one's memory and threads are its own."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event as Flag
from typing import Any

from core.bench.rounds import Subject
from core.errors.bench import MissingPeerError, SubjectEndedError
from core.system.by_name import named
from core.system.memory import peak_rss_mib
from core.system.process import (
    SPINS_BEFORE_SLEEP,
    ended_at_last,
    keep_large_blocks,
    share_cores,
    start_ignoring_interrupts,
    start_with_pipe,
)

SPIN = "GOMP_SPINCOUNT"
CYCLES_BETWEEN_LOOKS = 20_000


class SubjectProcess:
    """A process that does a round's work whenever it is called, and answers questions about itself."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __call__(self) -> float:
        amount: float = self.ask("__call__")
        return amount

    def peak_mib(self) -> float:
        """The most memory that it ever had, in MiB; 0 where the system does not say."""
        most: float = self.ask("peak_mib")
        return most

    def ask(self, method: str, *arguments: Any) -> Any:
        """What that method of the subject returns.

        Raises:
            SubjectEndedError: The process is gone, perhaps for lack of memory.
        """
        with _ending_as_error():
            self._pipe.send((method, arguments))
            return self._pipe.recv()

    def wait_until_made(self) -> None:
        """Wait until the subject can be called: one that is made beside another's start measures a slow processor.

        Raises:
            SubjectEndedError: As for `ask`.
        """
        with _ending_as_error():
            self._pipe.recv()


@contextmanager
def peer_process(name: str, *arguments: Any) -> Iterator[SubjectProcess]:
    """A `plain_process` that needs transformers.

    Raises:
        MissingPeerError: It is not installed.
    """
    if find_spec("transformers") is None:
        raise MissingPeerError("transformers")
    with plain_process(name, *arguments) as process:
        yield process


@contextmanager
def plain_process(name: str, *arguments: Any) -> Iterator[SubjectProcess]:
    """A subject that is made, and does its work, in a new process, with none of our settings for processes.

    Args:
        name: A class by its file in this room, such as "steps:OurSteps": only the new process imports it.
        arguments: What it is made of.
    """
    with _without_our_environment():
        process, pipe = start_with_pipe(_serve, name, arguments, False)
    with ended_at_last(process, pipe):
        yield _made(pipe)


@contextmanager
def our_process(name: str, *arguments: Any) -> Iterator[SubjectProcess]:
    """The same in a process that is prepared as that of the program is."""
    process, pipe = start_with_pipe(_serve, name, arguments, True)
    with ended_at_last(process, pipe):
        yield _made(pipe)


@contextmanager
def busy_processes(count: int) -> Iterator[Flag]:
    """Processes that each take all of a core while the flag is set."""
    spawn = multiprocessing.get_context("spawn")
    flag = spawn.Event()
    processes = [spawn.Process(target=_spin, args=(flag,), daemon=True) for _ in range(count)]
    for process in processes:
        start_ignoring_interrupts(process)
    try:
        yield flag
    finally:
        for process in processes:
            process.kill()
            process.join()


def beside(flag: Flag, work: Subject) -> Subject:
    """The same work while the busy processes have their cores."""

    def work_beside() -> float:
        flag.set()
        try:
            return work()
        finally:
            flag.clear()

    return work_beside


@contextmanager
def _ending_as_error() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as cause:
        raise SubjectEndedError from cause


def _made(pipe: Connection) -> SubjectProcess:
    process = SubjectProcess(pipe)
    process.wait_until_made()
    return process


@contextmanager
def _without_our_environment() -> Iterator[None]:
    """A new process inherits what `share_cores` set in this one's environment."""
    set_by_us = os.environ.get(SPIN) == SPINS_BEFORE_SLEEP
    if set_by_us:
        del os.environ[SPIN]
    try:
        yield
    finally:
        if set_by_us:
            os.environ[SPIN] = SPINS_BEFORE_SLEEP


def made(name: str, *arguments: Any) -> Any:
    """The subject of that name, as `plain_process` has it, in this process."""
    return named("core.bench", name)(*arguments)


def _serve(pipe: Connection, name: str, arguments: tuple[Any, ...], is_ours: bool) -> None:
    """Answer one question after the other."""
    if is_ours:
        keep_large_blocks()
        share_cores()
    subject = made(name, *arguments)  # which loads torch: only after the process was prepared
    pipe.send(None)
    while True:
        try:
            method, details = pipe.recv()
        except EOFError:
            return
        pipe.send(peak_rss_mib() if method == "peak_mib" else getattr(subject, method)(*details))


def _spin(flag: Flag) -> None:
    while True:
        flag.wait()
        for _ in range(CYCLES_BETWEEN_LOOKS):
            pass
