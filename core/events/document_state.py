"""What can become of a file, in the words that the library stores."""

from collections.abc import Iterable
from enum import StrEnum


class DocumentState(StrEnum):
    """The state of a row in the table of documents.

    The first three last while an import runs, and no library stores them.
    """

    QUEUED = "queued"
    READING = "reading"
    RECOGNIZING = "ocr"
    DONE = "done"
    WARNING = "warning"  # its text is here, and there is something to say
    DUPLICATE = "duplicate"
    ENCRYPTED = "encrypted"  # a password would open it
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @classmethod
    def _missing_(cls, _value: object) -> "DocumentState":
        """A word that another version or a defect wrote into the library."""
        return cls.FAILED


UNFINISHED = frozenset({DocumentState.QUEUED, DocumentState.READING, DocumentState.RECOGNIZING})
WITH_TEXT = (DocumentState.DONE, DocumentState.WARNING)
NOT_READ = (DocumentState.FAILED, DocumentState.CANCELLED)  # another try may succeed


def states_in_sql(states: Iterable[DocumentState]) -> str:
    """The states as SQL has a list: ('done', 'warning')."""
    quoted = ", ".join(f"'{state}'" for state in states)
    return f"({quoted})"
