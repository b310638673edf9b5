"""A folder that no search enters, by whichever path or link it is reached: the program's own files are no documents."""

import os
from pathlib import Path

Identity = tuple[int, int]  # a folder's device, and its number there: the same for every spelling of its path


class LeftOut:
    """A folder whose files are left out.

    Args:
        folder: The folder, which exists.
        but: One below it, whose files are left out only where a search of something else would come upon them.
    """

    def __init__(self, folder: Path, but: Path) -> None:
        self._folder = folder
        self._identity = identity_of(folder)
        self._allowed = identity_of(but)
        self._known: dict[str, bool] = {}  # by folders' real paths
        self.was_met = False

    def is_at(self, identity: Identity) -> bool:
        """Whether a search has come to it."""
        is_here = identity == self._identity
        self.was_met |= is_here
        return is_here

    def holds(self, path: Path) -> bool:
        """Whether a path leads to something in it, or to itself."""
        real = os.path.realpath(path)  # never fails, not even on a loop of links
        is_within = self._is_within(real)
        self.was_met |= is_within
        return is_within

    def lies_below(self, folder: Path) -> bool:
        """Whether a search of this folder would come upon it."""
        identity = identity_of(folder)
        real = Path(os.path.realpath(self._folder))
        return identity is not None and any(identity_of(parent) == identity for parent in real.parents)

    def _is_within(self, real: str) -> bool:
        if real not in self._known:
            identity, parent = identity_of(Path(real)), os.path.dirname(real)  # noqa: PTH120  # a Path is slow here
            if identity is not None and identity in (self._identity, self._allowed):
                self._known[real] = identity == self._identity
            else:
                self._known[real] = parent != real and self._is_within(parent)
        return self._known[real]


def identity_of(path: Path) -> Identity | None:
    """What tells a file or folder from all others; None where there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: no path of any system has a zero byte in it
        return None
    return status.st_dev, status.st_ino
