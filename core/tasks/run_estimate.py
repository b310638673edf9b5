"""What a run comes to, before it starts: estimates from its settings and the size of the corpus alone.

The exact figures stand in the run's own events once the tokenizer is learned.
"""

from dataclasses import dataclass

from core.config.model import count_parameters
from core.config.run import RunConfig
from core.config.tokenizer import TokenizerConfig
from core.config.training import TrainingConfig
from core.corpus.library import CorpusTotals
from core.tasks.run_horizon import RunCosts, estimated_epoch, planned_steps, windows_per_step
from core.wording import counted, file_size

BYTES_PER_TOKEN = {"bpe": 4, "word": 6}  # of English text; a character tokenizer has a token per character
CHARACTERS_IN_USE = 100  # what a character vocabulary of English text comes to
BEFORE_LEARNING = {
    "bpe": 260,
    "word": 4,
}  # tokens that a vocabulary has whatever the text: bytes, special tokens
BYTES_PER_WEIGHT = {"float32": 4, "float16": 2}


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The size of a run.

    `tokens` are those of the corpus, `training_tokens` what is left of them without the validation text. `steps` is
    where the run ends: 0 where its horizon is minutes and its `costs` are not known, or where it is counted in a text that is
    not there. `epochs` is 0 where there is no text. It keeps so many `snapshots`, each of `snapshot_bytes`.
    """

    parameters: int
    tokens: int
    training_tokens: int
    tokens_per_step: int
    steps: int
    epochs: float
    snapshots: int
    snapshot_bytes: int


def estimate_run(run: RunConfig, totals: CorpusTotals, costs: RunCosts | None = None) -> RunEstimate:
    """The size of a run on a corpus of this size."""
    tokens = estimate_tokens(run.tokenizer, totals)
    training_tokens = round(tokens * (1 - run.corpus.validation_share))
    training = run.training
    tokens_per_step = windows_per_step(training) * run.model.context_length
    epoch = estimated_epoch(run, training_tokens)
    steps = training.max_steps if training.horizon == "steps" else 0
    if training_tokens or training.horizon == "minutes":
        steps = planned_steps(training, epoch, costs=costs) or 0
    epochs = steps * windows_per_step(training) / epoch.windows if training_tokens else 0.0
    if training.max_epochs and training.horizon in ("steps", "epochs"):
        epochs = min(epochs, training.max_epochs)
    vocab_size = estimate_vocab_size(run.tokenizer, training_tokens)
    parameters = count_parameters(run.model, vocab_size)
    snapshots = count_snapshots(training, range(steps + 1))
    size = snapshot_bytes(training, parameters)
    return RunEstimate(parameters, tokens, training_tokens, tokens_per_step, steps, epochs, snapshots, size)


def count_snapshots(training: TrainingConfig, steps: range) -> int:
    """How many of these steps, which follow one another, have a snapshot."""
    interval = training.snapshot_interval
    if not interval:
        return 0
    return (steps.stop - 1) // interval - (steps.start - 1) // interval


def snapshot_bytes(training: TrainingConfig, parameters: int) -> int:
    """What one snapshot takes on the disk, within some thousand bytes."""
    return parameters * BYTES_PER_WEIGHT[training.snapshot_dtype]


def snapshot_cost(count: int, size: int, noun: str = "snapshot", about: str = "") -> str:
    """A sentence without its full stop: how many snapshots of this size are kept, and what they take on the disk.

    Args:
        about: What stands before a size: "≈ " where it is an estimate.
    """
    total = f"{about}{file_size(count * size)}"
    each = f", {about}{file_size(size)} each" if count > 1 else ""
    return f"Keeps {counted(count, noun)}{each}: {total}"


def estimate_tokens(tokenizer: TokenizerConfig, totals: CorpusTotals) -> int:
    """About how many tokens the corpus has."""
    if tokenizer.kind == "char":
        return totals.characters
    return totals.bytes // BYTES_PER_TOKEN[tokenizer.kind]


def estimate_vocab_size(tokenizer: TokenizerConfig, training_tokens: int) -> int:
    """About how many tokens the vocabulary has: short texts do not fill a large one."""
    if tokenizer.kind == "char":
        return CHARACTERS_IN_USE
    return min(tokenizer.vocab_size, BEFORE_LEARNING[tokenizer.kind] + training_tokens)
