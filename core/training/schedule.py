"""The learning rate at each step, a pure function of the step."""

import math
from typing import NamedTuple

from core.config.training import TrainingConfig


class ScheduleStart(NamedTuple):
    """Where a schedule begins that was changed in the middle of a run: after `step` steps, at this learning rate."""

    step: int
    learning_rate: float


def learning_rate_at(
    step: int, config: TrainingConfig, total_steps: int, start: ScheduleStart | None = None
) -> float:
    """The learning rate for the step that follows `step` earlier ones.

    It rises in a straight line over `warmup_steps`, then falls along a cosine or a line to
    `min_learning_rate` at `total_steps`, or stays ("constant").

    Args:
        start: From where it falls, instead of from the end of the warm-up.

    Source:
        Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5,
        for the cosine, here counted from the end of the warm-up.
    """
    if start is None and step < config.warmup_steps:
        return config.learning_rate * (step + 1) / (config.warmup_steps + 1)
    first, highest = start or ScheduleStart(config.warmup_steps, config.learning_rate)
    if config.schedule == "constant":
        return highest
    lowest = min(config.min_learning_rate, highest)  # a rate that lies below it already stays
    done = min(1.0, (step - first) / max(1, total_steps - first))
    left = (1 + math.cos(math.pi * done)) / 2 if config.schedule == "cosine" else 1 - done
    return lowest + (highest - lowest) * left
