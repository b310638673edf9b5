"""The corpus: the clean text of the included documents, on either side of the split."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps
from typing import Literal, NamedTuple

from core.config.corpus import CleaningConfig, CorpusConfig
from core.config.renamed import first_json
from core.corpus.clean import clean
from core.corpus.database import Database
from core.corpus.split import DocumentSize, Split, chunks_of, validation_documents
from core.corpus.texts import HAS_TEXT, text_with
from core.documents.kinds import KINDS, kind_named

IN_CORPUS = f"included AND characters > 0 AND NOT removed AND {HAS_TEXT}"
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


def totals(database: Database) -> CorpusTotals:
    columns = "count(*), coalesce(sum(characters), 0), coalesce(sum(text_bytes), 0)"
    return CorpusTotals(*database.query(f"SELECT {columns} FROM documents WHERE {IN_CORPUS}")[0])


def has_conversations(database: Database) -> bool:
    found = database.query(
        f"SELECT 1 FROM documents WHERE {IN_CORPUS} AND kind IN (SELECT value FROM json_each(?)) LIMIT 1",
        (dumps([kind.name for kind in KINDS if kind.has_markers]),),
    )
    return bool(found)


def split_by(database: Database, config: CorpusConfig) -> Literal["documents", "blocks"]:
    return "blocks" if _validation_documents(database, config) is None else "documents"


def fingerprint(database: Database, config: CorpusConfig, cleaning: CleaningConfig) -> str:
    digest = hashlib.sha256((config.model_dump_json() + first_json("cleaning", cleaning)).encode())
    columns = "kind, sha256, fingerprint"
    for values in database.query(f"SELECT {columns} FROM documents WHERE {IN_CORPUS} {CORPUS_ORDER}"):
        digest.update("\n".join(values).encode())
    return digest.hexdigest()


def passages(
    database: Database, split: Split, config: CorpusConfig, cleaning: CleaningConfig
) -> Iterator[Passage]:
    chosen = _validation_documents(database, config)
    for document_id, kind, sha256, text_fingerprint in database.query(
        f"SELECT id, kind, sha256, fingerprint FROM documents WHERE {IN_CORPUS} {CORPUS_ORDER}"
    ):
        if chosen is not None and (sha256 in chosen) != (split == "val"):
            continue
        read = text_with(database, document_id, text_fingerprint)
        if read is None:
            continue
        text = clean(read, kind, cleaning)
        share = config.validation_share if chosen is None else None
        has_markers = kind_named(kind).has_markers
        for chunk in chunks_of(text, has_markers, split, share, config.samples):
            yield Passage(chunk, has_markers)


def _validation_documents(database: Database, config: CorpusConfig) -> frozenset[str] | None:
    found = database.query(f"SELECT sha256, characters FROM documents WHERE {IN_CORPUS}")
    return validation_documents([DocumentSize(*values) for values in found], config.validation_share)
