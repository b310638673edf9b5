"""The corpus: the clean text of the included documents, on either side of the split."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from core.config.corpus import CleaningConfig, CorpusConfig
from core.config.renamed import first_json
from core.corpus.clean import clean
from core.corpus.database import Database
from core.corpus.selection import select_documents
from core.corpus.split import DocumentSize, Split, chunks_of, validation_documents
from core.corpus.texts import text_with
from core.documents.kinds import kind_named

# A document's place in the corpus is its path's: the order in which workers ended is chance.
CORPUS_ORDER = "ORDER BY path"


@dataclass(frozen=True, slots=True)
class CorpusTotals:
    """What the included documents amount to. `bytes` counts their text in UTF-8."""

    documents: int
    characters: int
    bytes: int


class Passage(NamedTuple):
    """One chunk of text of the corpus.

    Without markers it is text and nothing else: who makes tokens of it ends it with `<eos>`. With markers,
    `<|user|>`, `<|assistant|>` and `<eos>` in it are tokens, and it ends with its own `<eos>`: nothing is added.
    """

    text: str
    has_markers: bool


def totals(database: Database, config: CorpusConfig) -> CorpusTotals:
    columns = "count(*), coalesce(sum(characters), 0), coalesce(sum(text_bytes), 0)"
    return CorpusTotals(*_select(database, columns, config)[0])


def kinds(database: Database, config: CorpusConfig) -> dict[str, int]:
    return dict(_select(database, "kind, count(*)", config, "GROUP BY kind ORDER BY kind"))


def has_conversations(database: Database, config: CorpusConfig) -> bool:
    return any(kind_named(kind).has_markers for (kind,) in _select(database, "DISTINCT kind", config))


def split_by(database: Database, config: CorpusConfig) -> Literal["documents", "blocks"]:
    return "blocks" if _validation_documents(database, config) is None else "documents"


def fingerprint(database: Database, config: CorpusConfig, cleaning: CleaningConfig) -> str:
    settings = config.model_dump_json(exclude={"folder"})  # the documents themselves say what it chose
    digest = hashlib.sha256((settings + first_json("cleaning", cleaning)).encode())
    for values in _select(database, "kind, sha256, fingerprint", config, CORPUS_ORDER):
        digest.update("\n".join(values).encode())
    return digest.hexdigest()


def passages(
    database: Database, split: Split, config: CorpusConfig, cleaning: CleaningConfig
) -> Iterator[Passage]:
    chosen = _validation_documents(database, config)
    columns = "id, kind, sha256, fingerprint"
    for document_id, kind, sha256, of_text in _select(database, columns, config, CORPUS_ORDER):
        if chosen is not None and (sha256 in chosen) != (split == "val"):
            continue
        read = text_with(database, document_id, of_text)
        if read is None:
            continue
        text = clean(read, kind, cleaning)
        share = config.validation_share if chosen is None else None
        has_markers = kind_named(kind).has_markers
        for chunk in chunks_of(text, has_markers, split, share, config.samples):
            yield Passage(chunk, has_markers)


def _validation_documents(database: Database, config: CorpusConfig) -> frozenset[str] | None:
    found = _select(database, "sha256, characters", config)
    return validation_documents([DocumentSize(*values) for values in found], config.validation_share)


def _select(database: Database, columns: str, config: CorpusConfig, more: str = "") -> list[Any]:
    """These columns of the documents that a run with these settings is trained on."""
    chosen = select_documents(config.folder)
    sql = f"SELECT {columns} FROM documents WHERE {chosen.condition} {more}"
    return database.query(sql, chosen.values)
