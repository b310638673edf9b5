"""What is likely to go wrong with a run, said before it starts, each time with a change that would help.

Sources:
    Muennighoff et al., "Scaling Data-Constrained Language Models", 2023 (arXiv:2305.16264), figure 1: text that is
    read four times is almost as good as new text, and from 40 times on reading it again teaches nothing.
    Hoffmann et al., "Training Compute-Optimal Large Language Models", 2022 (arXiv:2203.15556): 20 tokens of text for
    each parameter are best. A teaching model has far fewer; `MOST_PARAMETERS_PER_TOKEN` is where nothing is left to
    gain but memorizing the text.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from core.config.presets import PRESETS
from core.config.run import RunConfig
from core.config.toml import with_settings
from core.corpus.library import CorpusTotals
from core.tasks.run_estimate import RunEstimate, estimate_run
from core.training.schedule import warmup_steps
from core.wording import counted, noun_for

MOST_EPOCHS = 40
MOST_PARAMETERS_PER_TOKEN = 100
FEWEST_STEPS = 10  # fewer are no training, and so no proposal
FEWEST_CONTEXT = 8  # tokens; the same for a context
WARMUP_SHARE = 0.1  # of a run's steps, where a warm-up is proposed
PRESETS_TO_PROPOSE = ("tiny", "starter", "small", "sheepop", "medium")  # `teaching` is for a few lines only


@dataclass(frozen=True, slots=True)
class Proposal:
    """A run that would do better, and the change in words for a button, such as "Take 220 steps"."""

    title: str
    run: RunConfig


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """Sentences: what will happen, with its numbers, and what helps. `proposal` is None where no setting does."""

    message: str
    remedy: str
    proposal: Proposal | None = None


def plan_warnings(run: RunConfig, totals: CorpusTotals) -> list[PlanWarning]:
    """What a user should know before starting a run on a corpus of this size, the gravest first; nothing without text."""
    return [*data_warnings(run, totals), *(_too_long_a_warmup(run, totals) if totals.characters else ())]


def data_warnings(run: RunConfig, totals: CorpusTotals) -> list[PlanWarning]:
    """Those of them that come of too little text for the run."""
    if not totals.characters:
        return []
    estimate = estimate_run(run, totals)
    if estimate.training_tokens <= run.model.context_length:
        return [_too_little_text(run, estimate)]  # the others would only say the same again
    learned_before = bool(run.base_model)
    too_large = () if learned_before else _too_large_a_model(run, totals, estimate)
    return [*too_large, *_too_many_epochs(run, estimate)]


def _too_little_text(run: RunConfig, estimate: RunEstimate) -> PlanWarning:
    context, tokens = run.model.context_length, estimate.training_tokens
    message = (
        f"The training text has ≈ {rounded(tokens)} {noun_for(tokens, 'token')}, and one training sequence needs {context + 1:,}: "
        "training is likely to end with an error."
    )
    shorter = _power_of_two(tokens // 2)
    if shorter < FEWEST_CONTEXT or shorter <= run.training.window_overlap or run.base_model:
        return PlanWarning(message, "Add documents.")
    proposed = with_settings(run, {"model.context_length": shorter})
    proposal = Proposal(f"Set the context to {counted(shorter, 'token')}", proposed)
    return PlanWarning(message, "Add documents, or choose a shorter context.", proposal)


def _too_large_a_model(run: RunConfig, totals: CorpusTotals, estimate: RunEstimate) -> Iterator[PlanWarning]:
    per_token = estimate.parameters / estimate.training_tokens
    if per_token <= MOST_PARAMETERS_PER_TOKEN:
        return
    message = (
        f"≈ {rounded(estimate.parameters)} parameters for ≈ {rounded(estimate.training_tokens)} tokens of training "
        f"text are ≈ {rounded(round(per_token))} for each token: the model will memorize the text."
    )
    smaller = _largest_preset_that_fits(run, totals, estimate.parameters)
    if smaller is None:
        yield PlanWarning(message, "Add documents.")
    else:
        yield PlanWarning(message, "Add documents, or choose a smaller model.", smaller)


def _largest_preset_that_fits(run: RunConfig, totals: CorpusTotals, below: int) -> Proposal | None:
    """Of those with fewer than so many parameters."""
    kept = {"corpus": run.corpus, "cleaning": run.cleaning}
    for name in reversed(PRESETS_TO_PROPOSE):
        proposed = PRESETS[name].run.model_copy(update=kept)
        estimate = estimate_run(proposed, totals)
        fits = (
            estimate.parameters < below
            and estimate.parameters <= MOST_PARAMETERS_PER_TOKEN * estimate.training_tokens
        )
        if fits and estimate.training_tokens > proposed.model.context_length:
            return Proposal(f"Use the preset {PRESETS[name].title}", proposed)
    return None


def _too_many_epochs(run: RunConfig, estimate: RunEstimate) -> Iterator[PlanWarning]:
    epochs = round(estimate.epochs)
    if epochs <= MOST_EPOCHS:
        return
    message = (
        f"The run reads the text ≈ {rounded(epochs)} times. Beyond {MOST_EPOCHS} epochs the model "
        "learns nothing more from it."
    )
    if run.training.horizon == "epochs":
        fewer = with_settings(run, {"training.max_epochs": MOST_EPOCHS})
        yield PlanWarning(
            message,
            "Add documents, or take fewer epochs.",
            Proposal(f"Take {counted(MOST_EPOCHS, 'epoch')}", fewer),
        )
        return
    steps = math.floor(MOST_EPOCHS * estimate.steps / estimate.epochs)
    if steps < FEWEST_STEPS:
        yield PlanWarning(message, "Add documents, or choose a smaller batch and fewer steps.")
        return
    steps = _rounded_down(steps)
    changes = {"training.horizon": "steps", "training.max_steps": steps}
    if warmup_steps(run.training, steps) >= steps:
        changes["training.warmup_steps"] = round(WARMUP_SHARE * steps)
    proposal = Proposal(f"Take {counted(steps, 'step')}", with_settings(run, changes))
    yield PlanWarning(message, "Add documents, or take fewer steps.", proposal)


def _too_long_a_warmup(run: RunConfig, totals: CorpusTotals) -> Iterator[PlanWarning]:
    estimate = estimate_run(run, totals)
    warmup = warmup_steps(run.training, estimate.steps)
    if not 0 < estimate.steps <= warmup:
        return
    message = warmup_warning(warmup, estimate.steps)
    if estimate.steps == 1:  # every warm-up takes that
        yield PlanWarning(message, "Take more steps.")
        return
    shorter = max(1, round(WARMUP_SHARE * estimate.steps))
    proposed = with_settings(run, {"training.warmup_steps": shorter})
    proposal = Proposal(f"Set the warm-up to {counted(shorter, 'step')}", proposed)
    yield PlanWarning(message, "Shorten the warm-up, or take more steps.", proposal)


def warmup_warning(warmup_steps: int, steps: int) -> str:
    """What becomes of a run that is not longer than its warm-up."""
    return (
        f"The warm-up of {counted(warmup_steps, 'step')} is as long as the run of {steps:,} or longer, so the learning "
        "rate never reaches its peak."
    )


def rounded(count: int) -> str:
    """Two significant digits, because an estimate has no more."""
    return f"{round(count, -_digits_to_drop(count)):,}"


def _rounded_down(count: int) -> int:
    unit: int = 10 ** _digits_to_drop(count)
    return count // unit * unit


def _digits_to_drop(count: int) -> int:
    return max(len(str(count)) - 2, 0)


def _power_of_two(largest: int) -> int:
    """The largest power of two that is not above `largest`; 0 where there is none."""
    return 2 ** int(math.log2(largest)) if largest >= 1 else 0
