"""A library in a temporary folder, and documents to put into it."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.corpus.library import Library, Recorded
from core.documents.document import Document


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path / "library.sqlite") as opened:
        yield opened


@pytest.fixture
def document() -> Callable[..., Document]:
    def make(text: str, kind: str = "text", warnings: tuple[str, ...] = (), file: bytes = b"") -> Document:
        sha256 = hashlib.sha256(file or text.encode()).hexdigest()
        return Document("ignored", kind, sha256, text, 1, warnings, -1.0)

    return make


@pytest.fixture
def add(library: Library, document: Callable[..., Document]) -> Callable[..., Recorded]:
    """Import one document as a file of some path."""

    def record(path: str, text: str, **options: object) -> Recorded:
        return library.record(path, document(text, **options), len(text.encode()))

    return record
