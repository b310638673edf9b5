"""The reader of `hostile_reader`, as an import uses it: worker processes find it by this module's name."""

from hostile_reader import read as read_hostile

from core.config.corpus import ImportConfig
from core.corpus.duplicates import Digested, digest_text
from core.documents.document import Source


def read(source: Source, config: ImportConfig) -> Digested:
    document = read_hostile(source, config)
    return Digested(document, digest_text(document.text))
