"""Failures name the file that the user knows, not the one that a member of an archive was extracted to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.documents.document import Source
from core.documents.folders import ledger_path
from core.errors.base import UnreadableDocumentError


@contextmanager
def failures_named(source: Source) -> Iterator[None]:
    """Let every failure inside the `with` name the source. What the system refuses becomes a sentence too.

    Raises:
        UnreadableDocumentError: The file could not be opened.
    """
    name = Path(ledger_path(source))
    try:
        yield
    except UnreadableDocumentError as error:
        if error.path == name:
            raise
        raise type(error)(name, *error.args[1:]) from error
    except OSError as cause:
        raise UnreadableDocumentError(name, (cause.strerror or "it cannot be opened").lower()) from cause
