"""What the events of an import make of the ledger's rows while it runs."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from app.tabs.corpus.columns import QUEUED, READING, RECOGNIZING, WITH_TEXT
from core.corpus.library import DocumentRow
from core.events import FileImported, FileReading, FileRestated, FilesQueued, PageRecognizing


class ImportRows:
    """Remembers how the rows of files stood that are queued or being read: a file that ends badly keeps its text."""

    def __init__(self) -> None:
        self._before: dict[str, DocumentRow | None] = {}

    def after(self, events: Iterable[object], known: Mapping[str, DocumentRow]) -> dict[str, DocumentRow]:
        """The rows that these events change, by path, of which `known` has all rows as they stand."""
        rows: dict[str, DocumentRow] = {}
        for event in events:
            if isinstance(event, FilesQueued):
                for file in event.files:
                    before = rows.get(file.path) or known.get(file.path)
                    rows[file.path] = self._begun(file.path, before, QUEUED, "", file.kind, file.bytes)
            elif isinstance(event, FileReading):
                before = rows.get(event.path) or known.get(event.path)
                rows[event.path] = self._begun(event.path, before, READING)
            elif isinstance(event, PageRecognizing):
                before = rows.get(event.path) or known.get(event.path)
                saying = f"Reading page {event.done + 1:,} of {event.pages:,}"
                rows[event.path] = self._begun(event.path, before, RECOGNIZING, saying)
            elif isinstance(event, FileImported):
                before = rows.get(event.path) or known.get(event.path)
                rows[event.path] = self._ended(event, before)
            elif isinstance(event, FileRestated):
                before = rows.get(event.path) or known.get(event.path)
                if before is not None:
                    rows[event.path] = _restated(event, before)
        return rows

    def holds(self, path: str) -> bool:
        """Whether a file is queued or being read."""
        return path in self._before

    def finish_row(self, row: DocumentRow) -> bool:
        """Take over what the ledger says of a file; False where it is being read now and shows that instead."""
        if row.path not in self._before:
            return True
        self._before[row.path] = row
        return False

    def end(self) -> dict[str, DocumentRow | None]:
        """The files that an import left unfinished, each with the row it had before, or None."""
        left, self._before = self._before, {}
        return left

    def _begun(
        self,
        path: str,
        before: DocumentRow | None,
        state: str,
        saying: str = "",
        kind: str = "",
        size: int = 0,
    ) -> DocumentRow:
        if path not in self._before:
            self._before[path] = before
        if before is not None:
            return replace(before, state=state, reason=saying)
        return DocumentRow(
            id=0,
            path=path,
            name=_name_of(path),
            kind=kind,
            state=state,
            reason=saying,
            pages=0,
            characters=0,
            bytes=size,
            confidence=-1.0,
            included=True,
            seconds=0.0,
            similarity=0.0,
            near="",
        )

    def _ended(self, event: FileImported, shown: DocumentRow | None) -> DocumentRow:
        before = self._before.pop(event.path, shown)
        if before and event.kept_state:
            return replace(before, state=event.kept_state, reason=event.reason, is_outdated=True)
        if before and before.state in WITH_TEXT and event.state not in WITH_TEXT and event.document_id:
            return replace(before, reason=event.reason)  # it is as it was when it was read before
        return DocumentRow(
            id=event.document_id or (before.id if before else 0),
            path=event.path,
            name=before.name if before else _name_of(event.path),
            kind=event.kind,
            state=event.kept_state or event.state,
            reason=event.reason,
            pages=event.pages,
            characters=event.characters,
            bytes=event.bytes,
            confidence=event.confidence,
            included=before.included if before else True,
            seconds=event.seconds,
            similarity=0.0,
            near="",
            is_outdated=bool(event.kept_state),
        )


def _restated(event: FileRestated, before: DocumentRow) -> DocumentRow:
    return replace(
        before,
        id=event.document_id,
        state=event.state,
        reason=event.reason,
        characters=event.characters,
    )


def _name_of(path: str) -> str:
    """The last part of a path, many times faster than by `PurePath`: a folder brings thousands of files at once."""
    return path[max(path.rfind("/"), path.rfind(os.sep)) + 1 :]
