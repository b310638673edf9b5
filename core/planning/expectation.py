"""What a run will probably reach, and its curve on the way there: a fit of the runs that docs/performance.md tells of.

    bits = text_bits * exp(LEVEL - GAIN * ln(seen)) * (1 + UNDECAYED * (1 - done))

`seen` is the text that the model has learned from, in bytes, where the k-th reading of a text counts less than the first
(Muennighoff et al., "Scaling Data-Constrained Language Models", 2023, arXiv:2305.16264, section 3.1); `text_bits` is
what a byte of it costs a trigram of bytes; `done` is the part of the run that is over: before its end, the learning
rate has yet to fall. Fitted are runs of the presets' family: BPE, Muon, from scratch. The number of parameters made the
fit no better between 2 and 8 millions.
"""

import math
from dataclasses import dataclass

from core.config.run import RunConfig

LEVEL, GAIN, READINGS = 1.3802, 0.1302, 4.0
UNDECAYED = 0.07
BELOW, ABOVE = 0.28, 0.10  # of ln(bits): a text that repeats itself is learned better than the fit says
LITTLE_BYTES = 50_000  # of text: from less, words stay alone
ENOUGH_BYTES = 300_000  # from so much on, sentences hold
EXAMPLES = (  # by bits per byte, as a share of what a trigram of bytes needs: what a run on Python's documentation had written there
    (1.0, "ress option messAD already ress another"),
    (0.6, "when a :mod:`ff` module now be used to the  string."),
    (0.52, "modules now support an optional string or :mod:`file` and :mod:`filefile` modules."),
    (0.0, "Converts a mode to the file system.  The *filename* parameter is a :class:`bytes` object"),
)
POINTS = 40  # of a curve
FEWEST_SEEN = 0.01  # of a run, where a curve begins


@dataclass(frozen=True, slots=True)
class Learned:
    """What a run learns from: `text_bits` of a trigram, bytes of training text, bytes in a token."""

    text_bits: float
    train_bytes: float
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """Between what it will probably lie, in bits per byte of validation text."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return math.sqrt(self.low * self.high)


def is_foreseeable(run: RunConfig) -> bool:
    """Whether a run is of the family that was fitted."""
    training, model = run.training, run.model
    is_family = model.positions == "rotary" and model.norm_type == "rms_norm" and model.activation == "swiglu"
    learns = training.optimizer == "muon" and model.previous_token_heads and not training.assistant_only_loss
    return bool(is_family and learns and run.tokenizer.kind == "bpe" and not run.base_model)


def expect(learned: Learned, tokens: float, done: float = 1.0) -> Expectation:
    """What a model reaches that has learned from so many tokens, repetitions included.

    Args:
        done: Which part of its run is over, from 0 to 1.
    """
    seen = worth(tokens * learned.bytes_per_token, learned.train_bytes)
    bits = learned.text_bits * math.exp(LEVEL - GAIN * math.log(seen)) * (1 + UNDECAYED * (1 - done))
    return Expectation(bits * math.exp(-BELOW), bits * math.exp(ABOVE))


def reads_like(band: Expectation, text_bits: float) -> str:
    """What a model of such a quality wrote: one of `EXAMPLES`, by what it needs of what a trigram needs."""
    share = band.middle / text_bits
    return next(text for least, text in EXAMPLES if share >= least)


def worth(seen: float, unique: float) -> float:
    """How many bytes of new text so many are worth that were read from a text of `unique` bytes, again and again."""
    again = max(0.0, seen / unique - 1)
    return min(seen, unique) * (1 + READINGS * -math.expm1(-again / READINGS))


def expected_curve(
    learned: Learned, tokens_per_step: int, steps: int
) -> tuple[tuple[int, float, float], ...]:
    """Steps of a run, each with the band of bits per byte in which its evaluation will probably lie."""
    first = max(1, round(FEWEST_SEEN * steps))
    taken = sorted({round(first * (steps / first) ** (point / POINTS)) for point in range(POINTS + 1)})
    bands = [expect(learned, step * tokens_per_step, step / steps) for step in taken]
    return tuple((step, band.low, band.high) for step, band in zip(taken, bands, strict=True))
