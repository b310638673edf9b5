"""The library: a ledger with a row for every file that was ever tried, and the text of those that could be read.

The only file that knows the schema. Text is stored as it was read and cleaned on its way out.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from core.config.corpus import CorpusConfig
from core.corpus.database import Database
from core.corpus.duplicates import text_fingerprint
from core.corpus.normalize import normalize
from core.corpus.split import DocumentSize, Split, pieces_of, validation_documents
from core.documents.document import NO_OCR, Document
from core.errors import UnknownDocumentError

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    pages INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    confidence REAL NOT NULL,
    included INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX documents_by_sha256 ON documents (sha256);
CREATE INDEX documents_by_fingerprint ON documents (fingerprint);
CREATE INDEX documents_by_bytes ON documents (bytes);
CREATE TABLE texts (
    document INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    text TEXT NOT NULL
)
"""
ROW_COLUMNS = "id, path, kind, state, reason, pages, characters, bytes, confidence, included"
WITH_TEXT = "state IN ('done', 'warning')"
IN_CORPUS = f"included AND characters > 0 AND {WITH_TEXT}"
CANCELLED = "The import was stopped before it was read."
# A document's place in the corpus is its path's: the order in which workers ended is chance.
CORPUS_ORDER = "ORDER BY path"


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One line of the ledger.

    `bytes` is the file's size, `characters` counts those of its text, `confidence` is Tesseract's mean word
    confidence in percent, -1 where no OCR ran. `reason` is a sentence, empty when there is nothing to say.
    """

    id: int
    path: str
    name: str
    kind: str
    state: str
    reason: str
    pages: int
    characters: int
    bytes: int
    confidence: float
    included: bool


@dataclass(frozen=True, slots=True)
class CorpusTotals:
    """What the included documents amount to. `bytes` counts their text in UTF-8."""

    documents: int
    characters: int
    bytes: int


class Passage(NamedTuple):
    """One piece of text of the corpus.

    Without markers it is text and nothing else: who makes tokens of it ends it with `<eos>`. With markers,
    `<|user|>`, `<|assistant|>` and `<eos>` in it are tokens, and it ends with its own `<eos>`: nothing is added.
    """

    text: str
    has_markers: bool


class Recorded(NamedTuple):
    """What the ledger made of a file. `document_id` is 0 where no document was kept for it."""

    state: str
    reason: str
    kind: str
    document_id: int = 0


class Library:
    """The documents of a workspace, for the thread that opened it; several instances may be open at once.

    Raises:
        WorkspaceError: The file cannot be opened or written. So for every method.
        DiskFullError: There is no room; nothing was changed. So for every method that writes.
        DamagedLibraryError: The file is damaged, or not a library. It is left as it is.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA, SCHEMA_VERSION)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The ledger

    def rows(self) -> list[DocumentRow]:
        """Every file that was ever tried, in the order of first import."""
        return [_row(values) for values in self._query(f"SELECT {ROW_COLUMNS} FROM documents ORDER BY id")]

    def row(self, document_id: int) -> DocumentRow:
        """One file.

        Raises:
            UnknownDocumentError: There is none of this number.
        """
        found = self._query(f"SELECT {ROW_COLUMNS} FROM documents WHERE id = ?", document_id)
        if not found:
            raise UnknownDocumentError(document_id)
        return _row(found[0])

    def text(self, document_id: int, most_characters: int | None = None) -> str:
        """A document's text as it was read, or its beginning; "" for a file that gave none.

        Args:
            most_characters: No more than these; None for the whole text.

        Raises:
            UnknownDocumentError: There is no document of this number.
        """
        columns, values = "text", [document_id]
        if most_characters is not None:
            # As bytes: of a text, substr gives nothing behind the first NUL. A character has four at most.
            columns, values = "substr(CAST(text AS BLOB), 1, ?)", [4 * most_characters, document_id]
        found = self._query(f"SELECT {columns} FROM texts WHERE document = ?", *values)
        if not found:
            self.row(document_id)  # raises where the number itself is wrong
        text = found[0][0] if found else ""
        return text if isinstance(text, str) else text.decode("utf-8", "ignore")[:most_characters]

    def set_included(self, document_ids: Sequence[int], included: bool) -> None:
        """Take documents into the corpus, or leave them out; their text is kept.

        Raises:
            UnknownDocumentError: One of them does not exist; nothing was changed.
        """
        with self._database.transaction():
            for document_id in document_ids:
                self.row(document_id)
                self._query("UPDATE documents SET included = ? WHERE id = ?", included, document_id)

    # What an import writes

    def hashes_of_size(self, file_bytes: int) -> frozenset[str]:
        """The SHA-256 of every document that was read without a warning from a file of this size."""
        found = self._query("SELECT sha256 FROM documents WHERE bytes = ? AND state = 'done'", file_bytes)
        return frozenset(sha256 for (sha256,) in found)

    def record(self, path: str, document: Document, file_bytes: int) -> Recorded:
        """Keep a document that was read, unless it repeats one that is here; all of it or nothing.

        A document of the same path is replaced under its old number.

        Returns:
            Its state: "done", "warning", or "duplicate" with the name of what it repeats.
        """
        fingerprint = text_fingerprint(document.text)
        with self._database.transaction():
            repeated = self._find_repeated(path, document.sha256, fingerprint)
            if repeated:
                return self._record_duplicate(path, repeated, document.kind, file_bytes)
            reason = " ".join(document.warnings) or ("" if fingerprint else "There is no text in it.")
            state = "warning" if reason else "done"
            document_id = self._write_row(
                path,
                kind=document.kind,
                state=state,
                reason=reason,
                sha256=document.sha256,
                fingerprint=fingerprint,
                pages=document.pages,
                characters=len(document.text),
                bytes=file_bytes,
                text_bytes=len(document.text.encode("utf-8")),
                confidence=document.confidence,
            )
            self._query("INSERT OR REPLACE INTO texts VALUES (?, ?)", document_id, document.text)
        return Recorded(state, reason, document.kind, document_id)

    def record_known(self, path: str, sha256: str, file_bytes: int) -> Recorded | None:
        """Note a file whose bytes a document here has already; None where that document is gone meanwhile."""
        with self._database.transaction():
            repeated = self._find_repeated(path, sha256, "")
            return self._record_duplicate(path, repeated, repeated.kind, file_bytes) if repeated else None

    def record_failure(self, path: str, state: str, reason: str, kind: str, file_bytes: int) -> Recorded:
        """Note a file that could not be read. What an earlier import read from it stays as it is.

        Args:
            state: "encrypted", "unsupported" or "failed".
            reason: A sentence.
            kind: What the file's name says that it is, or "".
        """
        with self._database.transaction():
            kept = self._query(f"SELECT id FROM documents WHERE path = ? AND {WITH_TEXT}", path)
            if kept:
                return Recorded(state, f"{reason} The text of an earlier import is kept.", kind, kept[0][0])
            self._write_row(path, kind=kind, state=state, reason=reason, bytes=file_bytes)
        return Recorded(state, reason, kind)

    def record_cancelled(self, files: Iterable[tuple[str, str, int]]) -> None:
        """Note files that were not read because the user ended the import; those here already stay as they are.

        Args:
            files: Of each, the path, the kind that its name tells or "", and its size in bytes.
        """
        with self._database.transaction():
            for path, kind, file_bytes in files:
                if not self._query("SELECT 1 FROM documents WHERE path = ?", path):
                    self._write_row(path, kind=kind, state="cancelled", reason=CANCELLED, bytes=file_bytes)

    # The corpus

    def totals(self) -> CorpusTotals:
        """How much text the included documents hold."""
        columns = "count(*), coalesce(sum(characters), 0), coalesce(sum(text_bytes), 0)"
        return CorpusTotals(*self._query(f"SELECT {columns} FROM documents WHERE {IN_CORPUS}")[0])

    def has_conversations(self) -> bool:
        """True where an included document holds conversations."""
        return bool(
            self._query(f"SELECT 1 FROM documents WHERE {IN_CORPUS} AND kind = 'conversation' LIMIT 1")
        )

    def split_by(self, config: CorpusConfig) -> Literal["documents", "blocks"]:
        """Whether whole documents are kept for validation, or the end of each one."""
        return "blocks" if self._validation_documents(config) is None else "documents"

    def fingerprint(self, config: CorpusConfig) -> str:
        """SHA-256, in hexadecimal, of the included documents and the settings that make passages of them."""
        digest = hashlib.sha256(config.model_dump_json().encode())
        columns = "kind, sha256, fingerprint"
        for values in self._query(f"SELECT {columns} FROM documents WHERE {IN_CORPUS} {CORPUS_ORDER}"):
            digest.update("\n".join(values).encode())
        return digest.hexdigest()

    def passages(self, split: Split, config: CorpusConfig) -> Iterator[Passage]:
        """The text of one side of the split, document by document, clean if `config` wants it so.

        One document is in memory at a time.
        """
        chosen = self._validation_documents(config)
        for document_id, kind, sha256 in self._query(
            f"SELECT id, kind, sha256 FROM documents WHERE {IN_CORPUS} {CORPUS_ORDER}"
        ):
            if chosen is not None and (sha256 in chosen) != (split == "val"):
                continue
            text = self.text(document_id)
            if config.normalize:
                text = normalize(text, kind)
            share = config.validation_share if chosen is None else None
            for piece in pieces_of(text, kind == "conversation", split, share, config.samples):
                yield Passage(piece, has_markers=kind == "conversation")

    def _validation_documents(self, config: CorpusConfig) -> frozenset[str] | None:
        found = self._query(f"SELECT sha256, characters FROM documents WHERE {IN_CORPUS}")
        return validation_documents([DocumentSize(*values) for values in found], config.validation_share)

    def _find_repeated(self, path: str, sha256: str, fingerprint: str) -> DocumentRow | None:
        """The document that a file repeats: itself if nothing changed, else one of the same bytes or text.

        Args:
            fingerprint: That of its text; "" where the file has not been read, or holds no text.
        """
        select = f"SELECT {ROW_COLUMNS} FROM documents WHERE {WITH_TEXT} AND "
        found = self._query(
            select + "path = ? AND sha256 = ? AND ? IN ('', fingerprint)", path, sha256, fingerprint
        )
        found += self._query(
            select + "path != ? AND sha256 = ? AND fingerprint != '' ORDER BY id LIMIT 1", path, sha256
        )
        if fingerprint:
            found += self._query(
                select + "path != ? AND fingerprint = ? ORDER BY id LIMIT 1", path, fingerprint
            )
        return _row(found[0]) if found else None

    def _record_duplicate(self, path: str, repeated: DocumentRow, kind: str, file_bytes: int) -> Recorded:
        if repeated.path == path:
            return Recorded("duplicate", "It is already in the library.", kind, repeated.id)
        reason = f"It repeats {repeated.name} (document {repeated.id}, {repeated.path})."
        document_id = self._write_row(path, kind=kind, state="duplicate", reason=reason, bytes=file_bytes)
        self._query("DELETE FROM texts WHERE document = ?", document_id)
        return Recorded("duplicate", reason, kind)

    def _write_row(
        self,
        path: str,
        *,
        kind: str,
        state: str,
        reason: str,
        bytes: int,
        sha256: str = "",
        fingerprint: str = "",
        pages: int = 0,
        characters: int = 0,
        text_bytes: int = 0,
        confidence: float = NO_OCR,
    ) -> int:
        """Write a file's line anew. It keeps its number, and stays left out if it was."""
        values = {
            "kind": kind,
            "state": state,
            "reason": reason,
            "sha256": sha256,
            "fingerprint": fingerprint,
            "pages": pages,
            "characters": characters,
            "bytes": bytes,
            "text_bytes": text_bytes,
            "confidence": confidence,
        }
        columns, places = ", ".join(values), ", ".join("?" * len(values))
        changes = ", ".join(f"{column} = excluded.{column}" for column in values)
        written = self._query(
            f"INSERT INTO documents (path, {columns}) VALUES (?, {places})"
            f" ON CONFLICT (path) DO UPDATE SET {changes} RETURNING id",
            path,
            *values.values(),
        )
        return int(written[0][0])

    def _query(self, sql: str, *values: Any) -> list[Any]:
        return self._database.query(sql, values)


def _row(values: Sequence[Any]) -> DocumentRow:
    number, path, kind, state, reason, pages, characters, size, confidence, included = values
    name = PurePath(path).name
    return DocumentRow(
        number, path, name, kind, state, reason, pages, characters, size, confidence, bool(included)
    )
