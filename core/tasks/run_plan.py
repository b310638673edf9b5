"""Where a run ends and how its learning rate gets there: as planned, or changed on the way."""

import dataclasses
import math

from core.batches.dataset import Dataset
from core.batches.sampler import Windows, windows_per_epoch
from core.config.run import RunConfig
from core.config.training import TrainingConfig
from core.runs.state import CheckpointState
from core.training.loop import Plan, Progress
from core.training.schedule import ScheduleStart, learning_rate_at

HORIZON_SETTINGS = ("max_steps", "max_epochs", "batch_size", "gradient_accumulation_steps")
RATE_SETTINGS = ("learning_rate", "min_learning_rate", "schedule")


def new_plan(
    config: RunConfig, dataset: Dataset, progress: Progress, start: ScheduleStart | None = None
) -> Plan:
    """The run's end: so many steps, or so many passes over the text, whichever comes first."""
    training = config.training
    per_epoch = windows_per_epoch(dataset.train_tokens, windows_of(config))
    steps = training.max_steps
    if training.max_epochs:
        left = training.max_epochs * per_epoch - progress.windows
        steps = min(steps, progress.step + math.ceil(left / windows_per_step(training)))
    return Plan(steps, per_epoch, start)


def plan_on(
    config: RunConfig, before: TrainingConfig, dataset: Dataset, progress: Progress, state: CheckpointState
) -> Plan:
    """The plan of a run that goes on: the one it had, or from here on another one at the rate that it has."""
    earlier = ScheduleStart(*state.schedule_from) if state.schedule_from else None
    training = config.training
    old = new_plan(config.model_copy(update={"training": before}), dataset, progress, earlier)
    if state.planned_steps is not None:
        old = dataclasses.replace(old, steps=state.planned_steps)
    if _equal(training, before, (*HORIZON_SETTINGS, *RATE_SETTINGS, "warmup_steps")):
        return old
    plan = new_plan(config, dataset, progress, earlier)
    if earlier is None and progress.step < before.warmup_steps:
        return plan  # the new warm-up, or what comes after it
    if plan.steps == old.steps and _equal(training, before, RATE_SETTINGS):
        start = earlier or ScheduleStart(before.warmup_steps, before.learning_rate)  # the curve that it had
        return dataclasses.replace(plan, start=start)
    rate = learning_rate_at(progress.step, before, old.steps, earlier)
    start = ScheduleStart(progress.step, rate * training.learning_rate / before.learning_rate)
    return dataclasses.replace(plan, start=start)


def _equal(one: TrainingConfig, other: TrainingConfig, names: tuple[str, ...]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def higher_limits(training: TrainingConfig, plan: Plan, progress: Progress) -> str:
    """The settings that would let a finished run go on, twice as far as it has come."""
    limits = []
    if progress.step >= training.max_steps:
        limits.append(f"training.max_steps={2 * progress.step}")
    if training.max_epochs and progress.windows >= training.max_epochs * plan.windows_per_epoch:
        limits.append(f"training.max_epochs={2 * progress.windows / plan.windows_per_epoch:.3g}")
    return " --set ".join(limits)


def windows_per_step(training: TrainingConfig) -> int:
    """How many windows of text one optimizer step is made of."""
    return training.batch_size * training.gradient_accumulation_steps


def windows_of(config: RunConfig) -> Windows:
    """How this run's text is cut and gathered."""
    return Windows(config.model.context_length, config.training.window_overlap, config.training.batch_size)
