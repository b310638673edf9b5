"""What can be said about a run before it starts: its parameters, the corpus in tokens, and the epochs.

Estimates are marked with ≈; the exact figures stand in the run's own events once the tokenizer is learned.
"""

from core.config.model import count_parameters
from core.config.run import RunConfig
from core.corpus.library import CorpusTotals
from core.wording import counted, noun_for

BYTES_PER_TOKEN = {"bpe": 4, "word": 6}  # of English text; a character tokenizer has a token per character
CHARACTERS_IN_USE = 100  # what a character vocabulary of English text comes to


def parameters(run: RunConfig) -> str:
    """The weights that training would change, such as "up to 3,674,624 parameters": a vocabulary can come out smaller."""
    if run.tokenizer.kind == "char":
        return f"≈ {counted(_rounded(count_parameters(run.model, CHARACTERS_IN_USE)), 'parameter')}"
    return f"up to {counted(count_parameters(run.model, run.tokenizer.vocab_size), 'parameter')}"


def tokens(run: RunConfig, totals: CorpusTotals) -> int:
    """About how many tokens the corpus has."""
    if run.tokenizer.kind == "char":
        return totals.characters
    return totals.bytes // BYTES_PER_TOKEN[run.tokenizer.kind]


def corpus(run: RunConfig, totals: CorpusTotals) -> str:
    """The corpus in tokens, and how often the run would read it."""
    training_tokens = tokens(run, totals) * (1 - run.corpus.validation_share)
    if not training_tokens:
        return "no text yet"
    training = run.training
    tokens_per_step = training.batch_size * training.gradient_accumulation_steps * run.model.context_length
    epochs = training.max_steps * tokens_per_step / training_tokens
    if training.max_epochs:
        epochs = min(epochs, training.max_epochs)
    return f"≈ {counted(_rounded(tokens(run, totals)), 'token')} of text, read ≈ {_epochs(epochs)}"


def _rounded(count: int) -> int:
    """Two significant digits, because an estimate has no more."""
    digits = max(len(str(count)) - 2, 0)
    return round(count, -digits)


def _epochs(epochs: float) -> str:
    if epochs >= 10:
        return counted(round(epochs), "epoch")
    return f"{epochs:.2g} {noun_for(float(f'{epochs:.2g}'), 'epoch')}"
