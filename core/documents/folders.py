"""Paths to files: folders are searched, and nothing is opened that could keep its reader waiting."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import MissingPathError


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read; or, where `problem` says why not, one that cannot be read.

    `path` is absolute, `bytes` is the file's size. `state` is "" for a file to read, else "unsupported" or "failed".
    """

    path: Path
    bytes: int
    state: str = ""
    problem: str = ""


def refuse_missing(paths: Sequence[Path]) -> None:
    """Check that everything the user named is there.

    Raises:
        MissingPathError: The first one that is not.
    """
    for path in paths:
        if not path.exists():
            raise MissingPathError(path)


def find_files(paths: Sequence[Path]) -> Iterator[FoundFile]:
    """Every file below `paths`, each once, in the order of their names.

    Hidden files and folders are skipped unless the user named them; a folder that several links lead to is
    searched once.
    """
    waiting = [Path(os.path.abspath(path)) for path in reversed(paths)]  # noqa: PTH100  # resolve() would follow links
    folders: set[tuple[int, int]] = set()
    files: set[Path] = set()
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            if stat.S_ISDIR(status.st_mode) and identity not in folders:
                folders.add(identity)
                waiting.extend(_visible_entries(path))
        except OSError as cause:
            yield FoundFile(path, 0, "failed", _sentence(path, cause))
            continue
        if not stat.S_ISDIR(status.st_mode) and path not in files:
            files.add(path)
            yield _found(path, status)


def _visible_entries(folder: Path) -> list[Path]:
    """What is in the folder, last name first: the caller takes from the end."""
    with os.scandir(folder) as entries:
        names = sorted((entry.name for entry in entries if not entry.name.startswith(".")), reverse=True)
    return [folder / name for name in names]


def _found(path: Path, status: os.stat_result) -> FoundFile:
    if stat.S_ISREG(status.st_mode):
        return FoundFile(path, status.st_size)
    problem = f"{path.name} is not supported: it is a pipe or a device, not a file."
    return FoundFile(path, 0, "unsupported", problem)


def _sentence(path: Path, cause: OSError) -> str:
    return f"{path.name} could not be opened: {(cause.strerror or 'unknown reason').lower()}."
