"""The learning rate and the length of the windows at each step, pure functions of the step."""

import math
from typing import NamedTuple

from core.config.training import TrainingConfig


class ScheduleStart(NamedTuple):
    """Where a schedule begins that was changed in the middle of a run: after `step` steps, at this learning rate."""

    step: int
    learning_rate: float


def warmup_steps(config: TrainingConfig, total_steps: int) -> int:
    """Over how many of a run's steps the learning rate rises: a share of them, rounded up, or a number.

    A share always leaves a step at the peak.
    """
    if not config.warmup_ratio:
        return config.warmup_steps
    share = round(config.warmup_ratio * total_steps, 6)  # 0.07 * 100 is above 7
    return min(math.ceil(share), max(0, total_steps - 1))


def learning_rate_at(
    step: int,
    config: TrainingConfig,
    total_steps: int,
    start: ScheduleStart | None = None,
    warmup: int | None = None,
) -> float:
    """The learning rate for the step that follows `step` earlier ones.

    It rises in a straight line over the warm-up, then falls along a cosine or a line to
    `min_learning_rate` at `total_steps`, or stays ("constant").

    Args:
        start: From where it falls, instead of from the end of the warm-up.
        warmup: The steps of the warm-up, instead of those that the settings give for `total_steps`.

    Source:
        Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5,
        for the cosine, here counted from the end of the warm-up.
    """
    if warmup is None:
        warmup = warmup_steps(config, total_steps)
    if start is None and step < warmup:
        return config.learning_rate * (step + 1) / (warmup + 1)
    first, highest = start or ScheduleStart(warmup, config.learning_rate)
    if config.schedule == "constant":
        return highest
    lowest = min(config.min_learning_rate, highest)  # a rate that lies below it already stays
    done = min(1.0, (step - first) / max(1, total_steps - first))
    left = (1 + math.cos(math.pi * done)) / 2 if config.schedule == "cosine" else 1 - done
    return lowest + (highest - lowest) * left


def window_parts(config: TrainingConfig, step: int, total_steps: int, most: int | None = None) -> int:
    """Into how many parts each window is cut in the step that follows `step` earlier ones.

    `context_growth` of them in the first half of a run, half as many in the next quarter, and so on.

    Args:
        most: Into so many they were cut in the last step; they do not become shorter where the run's end is moved.

    Source:
        Li, Zhang and He, "The Stability-Efficiency Dilemma", 2022 (arXiv:2108.06084): sequences that grow.
    """
    left = 1 - step / total_steps if step < total_steps else 0.0
    halvings = math.floor(-math.log2(left)) if left else config.context_growth
    parts = max(1, config.context_growth >> halvings)
    return parts if most is None else min(parts, most)


def growth_phases(config: TrainingConfig) -> dict[int, float]:
    """In which share of a run's steps windows are cut into how many parts: by the parts, the most first."""
    phases, left = {}, 1.0
    for halvings in range(config.context_growth.bit_length()):
        parts = config.context_growth >> halvings
        phases[parts] = left if parts == 1 else left / 2
        left -= phases[parts]
    return phases
