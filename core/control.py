"""How a stream of work is asked to wait or to end early, and how its result is kept."""

import threading
import time
from collections.abc import Generator, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class StopRequested(Exception):  # no failure: whoever began the work catches it
    """A stop was requested in the middle of something of which a part is of no use."""


class StopToken:
    """A flag that one thread sets and another, which does the work, reads between two steps.

    The work can be held too: then it waits at its next safe point until it is released or asked to end.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._released = threading.Event()
        self._released.set()
        self._held_seconds = 0.0
        self._leaving = False

    @property
    def asked(self) -> bool:
        """True once somebody asked for the end. It never becomes false again."""
        return self._event.is_set()

    @property
    def leaving(self) -> bool:
        """True where the end was asked for because the program closes: what can go on later is left as it is."""
        return self._leaving

    @property
    def held(self) -> bool:
        """True while the work is to wait."""
        return not self._released.is_set()

    def wait_while_held(self) -> None:
        """Wait until nobody holds the work any more. For the thread that does the work."""
        if self.held:
            started = time.perf_counter()
            self._released.wait()
            self._held_seconds += time.perf_counter() - started

    def raise_if_asked(self) -> None:
        """Go on only where nobody has asked for the end, and not while the work is held.

        Raises:
            StopRequested: Somebody has.
        """
        self.wait_while_held()
        if self.asked:
            raise StopRequested

    def set(self, *, leaving: bool = False) -> None:
        """Ask the stream to end at its next safe point, held or not.

        Args:
            leaving: The program closes. Without effect where the end was asked for already.
        """
        if not self.asked:
            self._leaving = leaving
        self._event.set()
        self._released.set()

    def hold(self) -> None:
        """Let the work wait at its next safe point. Without effect once its end was asked for."""
        self._released.clear()
        if self.asked:  # looked at afterwards: a `set` in another thread must not be undone
            self._released.set()

    def release(self) -> None:
        """Let held work go on."""
        self._released.set()

    def clock(self) -> float:
        """Seconds of a clock that stands still while the work waits, for the thread that does it."""
        return time.perf_counter() - self._held_seconds


class Returning(Iterable[T], Generic[T, R]):
    """A generator to go through once, whose return value is in `result` after that."""

    result: R

    def __init__(self, stream: Generator[T, None, R]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[T]:
        self.result = yield from self._stream


def result_of(stream: Generator[object, None, R]) -> R:
    """What a generator returns, once it has gone through all that it yields."""
    passed = Returning(stream)
    for _ in passed:
        pass
    return passed.result


def until_stopped(items: Iterable[T], stop: StopToken) -> Iterator[T]:
    """The items up to the first before which `stop` was set."""
    for item in items:
        if stop.asked:
            return
        yield item
