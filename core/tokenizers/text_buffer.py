"""Texts put aside in a file, to be read again by whoever, in whichever thread."""

import json
from collections.abc import Iterator
from pathlib import Path


class TextBuffer:
    """A file of texts: first all are appended, then they are read.

    Args:
        path: A file to be; what is there is replaced.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="ascii")

    def append(self, text: str) -> None:
        self._file.write(json.dumps(text) + "\n")

    def finish(self) -> Path:
        """The path of the file, in which all texts are from now on; nothing can be appended any more."""
        self._file.close()
        return self._path

    def remove(self) -> None:
        """Close the file and delete it; nothing can be read any more."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def read_texts(path: Path) -> Iterator[str]:
    """The texts of a finished buffer in order, one in memory at a time."""
    with path.open(encoding="ascii") as file:
        for line in file:
            yield json.loads(line)
