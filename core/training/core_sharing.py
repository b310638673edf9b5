"""Training beside other programs: while they need the same cores, OpenMP's waiting threads fall asleep sooner."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch

from core.system.load import OtherLoad
from core.training.compute import own_threads

LOOK_SECONDS = 0.5  # between two looks: a processor's times are counted in hundredths of a second
NEEDED_CORES = 0.4  # that others use beyond what we leave: one busy program beside two threads gets 0.67
GRAIN_SIZE = 32_768  # numbers that torch gives each thread at least


@contextmanager
def sharing_cores(
    threads: int, cores_used: Callable[[], float] | None = None
) -> Iterator[Callable[[], None]]:
    """Gives a function to call between two steps, which looks now and then at what other programs use.

    Every parallel region of a step ends when its last thread does. Where another program has one of the cores, the
    threads that spin meanwhile keep the late one from running. As soon as a process has more OpenMP threads than
    processors, libgomp lets them spin 1,000 times at most before they sleep (`share_cores` in `core/system/process.py` says
    10,000). So while the cores are short, idle threads are added: they compute nothing, and what the others compute
    stays the same to the last bit, which fewer threads for the step would not promise.

    Elsewhere than on Linux, where torch brings another OpenMP, and with one thread, nothing is done.

    Args:
        threads: That a step uses; 0: as many as torch takes itself.
        cores_used: By other programs since the last call; measured where it is not given.
    """
    processors, count = _processors(), threads or own_threads()
    if count < 2 or not sys.platform.startswith("linux"):
        yield lambda: None
        return
    teams: list[_IdleTeam] = []
    used, next_look = cores_used or OtherLoad().cores, time.monotonic() + LOOK_SECONDS

    def look() -> None:
        nonlocal next_look
        if time.monotonic() < next_look:
            return
        is_short = used() > processors - count + NEEDED_CORES
        if is_short and not teams:
            with suppress(RuntimeError):  # a system that has no thread left: the step is slower, and no worse
                teams.extend(_IdleTeam() for _ in range((processors - count) // (count - 1) + 1))
        elif not is_short:
            _end(teams)
        next_look = time.monotonic() + LOOK_SECONDS

    try:
        yield look
    finally:
        _end(teams)


class _IdleTeam:
    """A thread with OpenMP threads of its own, one less than a step uses, that only wait."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._hold, name="idle OpenMP threads", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _hold(self) -> None:
        torch.zeros(GRAIN_SIZE * torch.get_num_threads()).add_(1)  # one parallel region makes the threads
        self._over.wait()


def _end(teams: list[_IdleTeam]) -> None:
    for team in teams:
        team.end()
    teams.clear()


def _processors() -> int:
    """Those that this process may use, as libgomp counts them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
