"""How a stream of work is asked to end early."""

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class StopRequested(Exception):  # no failure: whoever began the work catches it
    """A stop was requested in the middle of something of which a part is of no use."""


class StopToken:
    """A flag that one thread raises and another reads between two steps."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def asked(self) -> bool:
        """True once somebody asked for the end. It never becomes false again."""
        return self._event.is_set()

    def raise_if_asked(self) -> None:
        """Go on only where nobody has asked for the end.

        Raises:
            StopRequested: Somebody has.
        """
        if self.asked:
            raise StopRequested

    def set(self) -> None:
        """Ask the stream to end at its next safe point."""
        self._event.set()


def until_stopped(items: Iterable[T], stop: StopToken) -> Iterator[T]:
    """The items up to the first before which `stop` was set."""
    for item in items:
        if stop.asked:
            return
        yield item
