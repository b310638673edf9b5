"""How a stream of work is asked to end early."""

import threading


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
