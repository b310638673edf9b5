"""What the table of documents tells of each file: its columns, and how states and kinds are said and drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.corpus.library import DocumentRow

READING = (
    "reading"  # the one state that only the window knows: the ledger has rows for files that came to an end
)
WITH_TEXT = ("done", "warning")


@dataclass(frozen=True, slots=True)
class StateLook:
    """How a state is told and drawn. `colour` is a field of `Colours`."""

    title: str
    picture: str
    colour: str


STATES = {
    READING: StateLook("Reading", "clock", "notice"),
    "done": StateLook("Done", "check", "accent"),
    "warning": StateLook("Warning", "warning", "warning"),
    "duplicate": StateLook("Duplicate", "duplicate", "muted"),
    "encrypted": StateLook("Locked", "lock", "warning"),
    "unsupported": StateLook("Not supported", "unsupported", "muted"),
    "failed": StateLook("Failed", "error", "danger"),
    "cancelled": StateLook("Cancelled", "cancelled", "muted"),
}
KINDS = {
    "text": "Text",
    "markdown": "Markdown",
    "code": "Source code",
    "pdf": "PDF",
    "image": "Image",
    "conversation": "Conversations",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, what a cell shows, what sorting compares, and whether it is a number."""

    title: str
    tip: str
    text: Callable[[DocumentRow], str]
    sort_key: Callable[[DocumentRow], Any]
    number: bool = False


def file_size(size: int) -> str:
    """A size in bytes as people say it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"


def pages(row: DocumentRow) -> int:
    """The pages of a file that has some; 0 for text, which has none of its own."""
    return row.pages if row.kind in ("pdf", "image") else 0


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


USE, NAME, STATE = 0, 1, 2
COLUMNS = (
    Column("Use", "Ticked: part of the corpus", lambda _row: "", lambda row: row.included),
    Column("Name", "The file's name", lambda row: row.name, lambda row: row.name.casefold()),
    Column(
        "State",
        "What became of the file",
        lambda row: STATES[row.state].title,
        lambda row: STATES[row.state].title,
    ),
    Column(
        "Kind",
        "What the file holds",
        lambda row: KINDS.get(row.kind, row.kind),
        lambda row: KINDS.get(row.kind, row.kind),
    ),
    Column("Pages", "Pages of a PDF or image", lambda row: _count(pages(row)), pages, True),
    Column(
        "Characters",
        "Characters of text",
        lambda row: _count(row.characters),
        lambda row: row.characters,
        True,
    ),
    Column(
        "Size",
        "The file's size",
        lambda row: file_size(row.bytes) if row.bytes else "",
        lambda row: row.bytes,
        True,
    ),
    Column("Note", "Why it is so", lambda row: row.reason, lambda row: row.reason.casefold()),
)
