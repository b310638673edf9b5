"""How a stream of work is asked to end early."""

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class StopToken:
    """A flag that one thread raises and another reads between two steps."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def asked(self) -> bool:
        """True once somebody asked for the end. It never becomes false again."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask the stream to end at its next safe point."""
        self._event.set()


def until_stopped(items: Iterable[T], stop: StopToken) -> Iterator[T]:
    """The items up to the first before which `stop` was set."""
    for item in items:
        if stop.asked:
            return
        yield item
