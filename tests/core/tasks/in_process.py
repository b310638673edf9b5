"""Readers that need no process: an import that takes a blink."""

from core.config.corpus import ImportConfig
from core.corpus.duplicates import Digested
from core.corpus.reading import read_and_digest
from core.documents.document import Source
from core.documents.isolation import Answer
from core.errors import UserFacingError


class InProcess:
    """A pool that reads one file at a time, when it is asked what has ended."""

    def __init__(self, config: ImportConfig, workers: int, reader: object) -> None:
        self._config = config
        self._asked: list[Source] = []

    def __class_getitem__(cls, result: type) -> type["InProcess"]:
        return cls

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *trouble: object) -> None:
        self.close()

    @property
    def has_room(self) -> bool:
        return not self._asked

    def read(self, source: Source, known: frozenset[str] = frozenset(), fields: tuple[str, ...] = ()) -> None:
        self._asked.append(source)

    def ended(self, wait_seconds: float) -> list[Answer[Digested]]:
        source = self._asked.pop()
        try:
            return [Answer(source, 0, read_and_digest(source, self._config), 0.0)]
        except UserFacingError as error:
            return [Answer(source, 0, error, 0.0)]

    def close(self) -> None:
        self._asked.clear()
