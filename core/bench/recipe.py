"""What both that learn a text for `bench learn` go by: its two parts, the peer's recipe, and the points of a curve."""

from typing import NamedTuple

TRAIN_SHARE = 0.9


class LearnedPoint(NamedTuple):
    """How far training has come, and how good the model is then. The loss is in nats per character."""

    step: int
    tokens: int
    seconds: float
    loss: float


class Recipe(NamedTuple):
    """The peer's sizes and settings: those that nanoGPT publishes for a CPU."""

    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 128
    context_length: int = 64
    batch_size: int = 12
    steps: int = 2000
    learning_rate: float = 1e-3
    min_learning_rate: float = 1e-4
    warmup_steps: int = 100
    beta2: float = 0.99


def split_text(text: str) -> tuple[str, str]:
    """What both learn from, and what both are measured on."""
    end = int(TRAIN_SHARE * len(text))
    return text[:end], text[end:]
