"""What a model that writes reports, from an open checkpoint to the end of a reply."""

from dataclasses import dataclass
from typing import NamedTuple

from core.events.base import Event


@dataclass(frozen=True, slots=True)
class ModelOpened(Event):
    """A checkpoint stands in memory, ready to write."""

    name: str
    step: int
    parameters: int
    context_length: int
    has_conversations: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class PromptRead(Event):
    """The prompt in tokens. `unknown` holds the characters or words that the vocabulary lacks."""

    tokens: int
    context_length: int
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextMoved(Event):
    """The context was full: `kept` of its tokens were read again, `dropped` older ones are forgotten.

    Among these are `dropped_turns` whole turns; `question_cut` where the question in hand lost its beginning;
    `system_dropped` where the system message went, being longer than half of the context.
    """

    kept: int
    dropped: int
    question_cut: bool = False
    dropped_turns: int = 0
    sample: int = 0
    system_dropped: bool = False


class Alternative(NamedTuple):  # made by the ten for each token: a dataclass takes four times as long
    """A token that could have stood in a place, with the probability that the model itself gave it."""

    token_id: int
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class TokenDetails:
    """What the model considered where it wrote a token. The texts of a reply's tokens, joined, are the reply.

    `probability`, `rank` (from 1) and `entropy` (bits) are those of the model's own distribution, before penalty,
    temperature and filters; or of its mixture with the documents, of whom `from_documents` of the probability comes, from
    0 to 1. `alternatives` are the likeliest tokens, the written one among them where it is.
    """

    token_id: int
    text: str
    probability: float
    rank: int = 0
    entropy: float = 0.0
    alternatives: tuple[Alternative, ...] = ()
    from_documents: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenWritten(Event):
    """One token of a reply. `text` holds whole characters only, so it can be empty.

    `probability` is the model's own, before temperature and filters, or that of its mixture with the documents, of whom
    `from_documents` of it comes, from 0 to 1; `sample` counts several replies from 1. `details` are there where they were
    asked for.
    """

    text: str
    token_id: int
    probability: float
    context_used: int
    sample: int = 0
    details: TokenDetails | None = None
    from_documents: float = 0.0


@dataclass(frozen=True, slots=True)
class ReplyEnded(Event):
    """The reply is whole, `<eos>` counted. `reason` is "eos", "stop_string", "length" or "stopped"."""

    reason: str
    text: str
    tokens: int
    seconds: float
    first_token_seconds: float
    tokens_per_second: float
    sample: int = 0
