"""Texts put aside in a file, to be read again by whoever, in whichever thread."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path


def write_spool(texts: Iterable[str], path: Path) -> None:
    """Write `texts` to `path`, one after the other as they come."""
    with path.open("w", encoding="ascii") as file:
        file.writelines(json.dumps(text) + "\n" for text in texts)


def read_spool(path: Path) -> Iterator[str]:
    """The texts that were written to `path`, one in memory at a time."""
    with path.open(encoding="ascii") as file:
        for line in file:
            yield json.loads(line)
