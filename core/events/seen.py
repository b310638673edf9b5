"""What a look-up in the training text reports: which passages of a reply stand there, and in which documents."""

from dataclasses import dataclass
from typing import ClassVar

from core.events.base import Event, WorkProgress


@dataclass(frozen=True, slots=True)
class SeenProgress(WorkProgress):
    """The index over a data set's training text is being built: bytes of work done, and all there are."""

    work: ClassVar = "Indexing the training text"
    unit: ClassVar = "bytes_"

    dataset: str
    bytes_done: int
    bytes_total: int
    seconds: float


@dataclass(frozen=True, slots=True)
class WeightsProgress(WorkProgress):
    """How far the documents are to be relied on is being learned: held-out tokens that were read, and all to be."""

    work: ClassVar = "Learning how far to rely on the documents"
    unit: ClassVar = "tokens_"

    tokens_done: int
    tokens_total: int


@dataclass(frozen=True, slots=True)
class SeenPassage:
    """Characters `start` to `end` of a reply, which stand word for word in `places` places of the training text."""

    start: int
    end: int
    text: str
    words: int
    places: int


@dataclass(frozen=True, slots=True)
class SeenFound(Event):
    """The passages, the longest first; none lies in another one.

    `share` is the part of the reply's characters that stands in passages, from 0 to 1. Where `is_complete` is False, a
    passage may stand in more places. `base_model` is the model that a fine-tuned run began with, whose texts are not
    searched; "" for none. `least_words` is how many a passage had to have, 0 where the reply is too short for the index. `seconds` is what the look-up took, without building the index.
    """

    name: str
    dataset: str
    passages: tuple[SeenPassage, ...]
    share: float
    characters: int
    least_words: int
    is_complete: bool
    base_model: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SeenPlace:
    """Where a passage stands: characters `start` to `end` of a document's clean text.

    `document_id` and `page` are 0, and `title` is "", where they are not known. Where the place cannot be shown,
    `problem` is a sentence that says why.
    """

    document_id: int = 0
    title: str = ""
    page: int = 0
    start: int = 0
    end: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SeenLocated(Event):
    """A place of each passage, in the order of `SeenFound`; of the first ones where there are very many."""

    places: tuple[SeenPlace, ...]
