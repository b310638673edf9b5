"""Which documents a corpus is made of: those that are included and have text, all of them or those below a folder."""

import os
from dataclasses import dataclass

from core.corpus.texts import HAS_TEXT

IN_CORPUS = f"included AND characters > 0 AND NOT removed AND {HAS_TEXT}"
BELOW = "(path = ? OR substr(path, 1, ?) = ?)"


@dataclass(frozen=True, slots=True)
class Selection:
    """A condition on rows of `documents`, and the values of its question marks."""

    condition: str
    values: tuple[str | int, ...] = ()


def select_documents(folder: str) -> Selection:
    """The documents of a corpus.

    Args:
        folder: Only files in this folder, and below it; it can be an archive or a single file too. "" for all. A file
            that repeats a document from elsewhere brings that document along, where both
            are included.
    """
    if not folder:
        return Selection(IN_CORPUS)
    inside = folder.rstrip(os.sep + (os.altsep or "")) + os.sep
    values = (folder, len(inside), inside)
    repeated = f"SELECT repeats FROM documents WHERE repeats AND included AND NOT removed AND {BELOW}"
    return Selection(f"{IN_CORPUS} AND ({BELOW} OR id IN ({repeated}))", (*values, *values))
