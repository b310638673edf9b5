"""What an import and a watched folder report, from a file to searchable text; sizes in bytes, times in seconds."""

from dataclasses import dataclass
from typing import ClassVar

from core.events.base import Event, WorkProgress
from core.events.document_state import DocumentState


@dataclass(frozen=True, slots=True)
class ImportStarted(Event):
    """The files to be read are known."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class QueuedFile:
    """A file that waits to be read. `kind` is what its suffix says, or ""; `bytes` is its size."""

    path: str
    kind: str
    bytes: int


@dataclass(frozen=True, slots=True)
class FilesQueued(Event):
    """Some of the files that will be read, in order; a large import is reported in several of these."""

    files: tuple[QueuedFile, ...]


@dataclass(frozen=True, slots=True)
class ArchiveOpened(Event):
    """An archive holds so many more files to read, of so many bytes when unpacked."""

    path: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FileReading(Event):
    """A reader has taken a file up."""

    path: str


@dataclass(frozen=True, slots=True)
class PageRecognizing(Event):
    """OCR has taken up a page of a file. Of its `pages` scans, `done` are recognised already."""

    path: str
    page: int
    done: int
    pages: int


@dataclass(frozen=True, slots=True)
class FileImported(Event):
    """A file has come to its end, good or bad.

    `reason` is a sentence, empty when there is nothing to say. `document_id` is 0 where no document was kept.
    `confidence` is Tesseract's mean word confidence in percent, -1 where no OCR ran. `bytes` is the file's size,
    `seconds` the time that readers spent on it. Where it cannot be read any more and the text of an earlier import is
    kept, `kept_state` is the state of that in the ledger; else it is None.
    """

    path: str
    state: DocumentState
    reason: str
    kind: str
    pages: int
    characters: int
    document_id: int
    confidence: float
    bytes: int
    seconds: float
    kept_state: DocumentState | None = None


@dataclass(frozen=True, slots=True)
class FileRestated(Event):
    """What was reported about a file no longer holds, because of the file that has just ended.

    It came to be the duplicate of that one, which stands before it; or it repeated the text that the other had before,
    and is now the document that holds it. `characters` counts the text that is kept for it now.
    """

    path: str
    state: DocumentState
    reason: str
    characters: int
    document_id: int


@dataclass(frozen=True, slots=True)
class TextIndexed(WorkProgress):
    """Documents made searchable so far, of all that had to be."""

    work: ClassVar = "Indexing texts"
    unit: ClassVar = ""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class NearDuplicatesFound(Event):
    """All documents were compared; so many nearly repeat another one."""

    documents: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FilesChanged(Event):
    """Files in a watched folder are new or were changed, and are no longer being written."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesMissing(Event):
    """Files in a watched folder, known to the library, were deleted or moved."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportFinished(Event):
    """No file is left to be read. `done` counts the files with text, and archives."""

    done: int
    duplicates: int
    unsupported: int
    failed: int
    cancelled: int
    seconds: float
    without_text: int = 0


@dataclass(frozen=True, slots=True)
class FileWritten(Event):
    """A file of the sample corpus stands on the disk."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class PartsRead(WorkProgress):
    """Files that workers of an engine have read, of those that are listed so far."""

    work: ClassVar = "Reading files"
    unit: ClassVar = "files_"

    files_done: int
    files_total: int


@dataclass(frozen=True, slots=True)
class PartsCompared(WorkProgress):
    """Shards of a library that an engine has compared, of all."""

    work: ClassVar = "Comparing documents"
    unit: ClassVar = "parts_"

    parts_done: int
    parts_total: int


@dataclass(frozen=True, slots=True)
class LakeWritten(Event):
    """A library of shards stands at `place`: so many files in so many shards, and the characters of their texts."""

    place: str
    parts: int
    files: int
    documents: int
    characters: int
    near_duplicates: int
