"""What is told of replies that are compared: those of several models, or of one run's checkpoints."""

from dataclasses import dataclass
from typing import Literal

from core.events.base import Event


@dataclass(frozen=True, slots=True)
class ComparisonPart(Event):
    """What comes next in a comparison of runs: measurements on validation text or on the user's, or replies to a prompt.

    `name` is the run whose validation text it is, the text's name, or the prompt.
    """

    part: Literal["validation", "text", "prompt"]
    name: str


@dataclass(frozen=True, slots=True)
class SideOpened(Event):
    """The model of a side, counted from 0, stands in memory."""

    side: int
    name: str
    step: int
    parameters: int
    context_length: int
    has_conversations: bool


@dataclass(frozen=True, slots=True)
class SideRead(Event):
    """A side has read the prompt; `unknown` holds what its vocabulary lacks."""

    side: int
    tokens: int
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideMoved(Event):
    """The context of a side was full: `dropped` of the oldest tokens are forgotten."""

    side: int
    dropped: int


@dataclass(frozen=True, slots=True)
class SideWritten(Event):
    """A side wrote one token."""

    side: int
    text: str


@dataclass(frozen=True, slots=True)
class SideEnded(Event):
    """A side's reply is whole. Times are its own, without those in which the others were computed.

    `loss` is the mean of what the model itself gave the tokens that it wrote, in nats per token, `perplexity` exp(loss);
    None where it wrote none.
    """

    side: int
    name: str
    step: int
    reason: str
    text: str
    tokens: int
    seconds: float
    first_token_seconds: float
    tokens_per_second: float
    loss: float | None
    perplexity: float | None


@dataclass(frozen=True, slots=True)
class SideScored(Event):
    """How a side's model predicts the reply of another one, `of`, after the same prompt; `tokens` are its own."""

    side: int
    of: int
    tokens: int
    loss: float
    perplexity: float


@dataclass(frozen=True, slots=True)
class CheckpointReplied(Event):
    """What one checkpoint of a run wrote. `val_loss` is that of its step, None where it was not evaluated there."""

    name: str
    step: int
    reason: str
    text: str
    tokens: int
    tokens_per_second: float
    perplexity: float | None
    val_loss: float | None
