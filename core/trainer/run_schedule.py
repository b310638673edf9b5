"""Where a run ends and how its learning rate gets there: as planned, or changed on the way."""

import dataclasses
import sys

from core.batches.dataset import Dataset
from core.batches.sampler import Windows, windows_per_epoch
from core.config.run import RunConfig
from core.config.training import TrainingConfig
from core.planning.horizon import Epoch, RunCosts, StepsTaken, planned_steps
from core.runs.state import CheckpointState
from core.training.loop import Plan, TrainingProgress
from core.training.schedule import ScheduleStart, learning_rate_at, warmup_steps

HORIZON_SETTINGS = (
    *("horizon", "max_steps", "max_epochs", "max_tokens", "max_minutes"),
    *("batch_size", "gradient_accumulation_steps"),
)
RATE_SETTINGS = ("learning_rate", "min_learning_rate", "schedule")
WARMUP_SETTINGS = ("warmup_steps", "warmup_ratio")
LEAST_MOVE = (
    0.01  # of the steps that were planned, and more than 1: by so many the end of a run in minutes moves
)
UNPLANNED = sys.maxsize  # steps of a run whose horizon is minutes, until a few of them are timed


def new_plan(
    config: RunConfig,
    dataset: Dataset,
    progress: TrainingProgress,
    start: ScheduleStart | None = None,
    costs: RunCosts | None = None,
) -> Plan:
    """The run's end as its horizon has it.

    Args:
        costs: What a step takes, where the horizon is minutes; without them, the plan is still to be made.
    """
    epoch = epoch_of(config, dataset)
    taken = StepsTaken(progress.step, progress.windows, progress.seconds)
    steps = planned_steps(config.training, epoch, taken, costs)
    return Plan(UNPLANNED if steps is None else steps, epoch.windows, start)


def plan_on(
    config: RunConfig,
    before: TrainingConfig,
    dataset: Dataset,
    progress: TrainingProgress,
    state: CheckpointState,
    costs: RunCosts | None = None,
) -> Plan:
    """The plan of a run that goes on: the one it had, or from here on another one at the rate that it has."""
    earlier = ScheduleStart(*state.schedule_from) if state.schedule_from else None
    training = config.training
    old = new_plan(config.model_copy(update={"training": before}), dataset, progress, earlier)
    old = dataclasses.replace(old, warmup_steps=state.planned_warmup)
    if state.planned_steps is not None:
        old = dataclasses.replace(old, steps=state.planned_steps)
    if _equal(training, before, (*HORIZON_SETTINGS, *RATE_SETTINGS, *WARMUP_SETTINGS)):
        return old
    plan = new_plan(config, dataset, progress, earlier, costs)
    if progress.step == 0:
        return plan
    warmup = _warmup(before, old)
    if earlier is None and progress.step < warmup:
        is_kept = _equal(training, before, WARMUP_SETTINGS)  # a share of another run would move the rate
        return dataclasses.replace(plan, warmup_steps=warmup if is_kept else None)
    if plan.steps == old.steps and _equal(training, before, RATE_SETTINGS):
        start = earlier or ScheduleStart(warmup, before.learning_rate)  # the curve that it had
        return dataclasses.replace(plan, start=start)
    rate = learning_rate_at(progress.step, before, old.steps, earlier, warmup)
    start = ScheduleStart(progress.step, rate * training.learning_rate / before.learning_rate)
    return dataclasses.replace(plan, start=start)


def plan_again(
    config: RunConfig, dataset: Dataset, progress: TrainingProgress, old: Plan, costs: RunCosts
) -> Plan:
    """The plan of a run in minutes whose steps take another time by now: what is left of its schedule is stretched or shortened.

    Args:
        costs: What its steps take from here on.
    """
    plan = new_plan(config, dataset, progress, costs=costs)
    steps, left = max(plan.steps, progress.step + 1), old.steps - progress.step
    if abs(steps - old.steps) <= max(1, LEAST_MOVE * old.steps):
        return old
    warmup = _warmup(config.training, old)
    if old.start is None and progress.step < warmup:
        return dataclasses.replace(old, steps=steps, warmup_steps=warmup)
    first, highest = old.start or ScheduleStart(warmup, config.training.learning_rate)
    begun = round(
        progress.step - (progress.step - first) * (steps - progress.step) / left
    )  # the same share is done
    return dataclasses.replace(old, steps=steps, start=ScheduleStart(begun, highest))


def _warmup(training: TrainingConfig, plan: Plan) -> int:
    return warmup_steps(training, plan.steps) if plan.warmup_steps is None else plan.warmup_steps


def _equal(one: TrainingConfig, other: TrainingConfig, names: tuple[str, ...]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def limiting_setting(training: TrainingConfig, step: int) -> str:
    """The setting that ends a run which has come so far."""
    if training.horizon != "steps":
        return f"max_{training.horizon}"
    return "max_steps" if training.max_steps < step else "max_epochs"


def higher_limits(training: TrainingConfig, plan: Plan, progress: TrainingProgress) -> str:
    """The settings that would let a finished run go on, twice as far as it has come."""
    epochs = 2 * progress.windows / plan.windows_per_epoch
    if training.horizon == "epochs":
        return f"training.max_epochs={epochs:.3g}"
    if training.horizon == "tokens":
        return f"training.max_tokens={2 * max(progress.tokens, training.max_tokens)}"
    limits = []
    read_all = training.max_epochs and progress.windows >= training.max_epochs * plan.windows_per_epoch
    if training.horizon == "minutes" and not read_all:
        limits.append(f"training.max_minutes={2 * training.max_minutes:g}")
    if training.horizon == "steps" and progress.step >= training.max_steps:
        limits.append(f"training.max_steps={2 * progress.step}")
    if read_all:
        limits.append(f"training.max_epochs={epochs:.3g}")
    return " --set ".join(limits)


def epoch_of(config: RunConfig, dataset: Dataset) -> Epoch:
    """What one pass over the training text is made of."""
    windows = windows_per_epoch(dataset.train_tokens, windows_of(config))
    targets = dataset.train_tokens - 1  # the first token follows none
    return Epoch(windows, targets + (windows - 1) * config.training.window_overlap)


def windows_of(config: RunConfig) -> Windows:
    """How this run's text is cut and gathered."""
    return Windows(config.model.context_length, config.training.window_overlap, config.training.batch_size)
