"""The learning rate at each step, a pure function of the step."""

import math

from core.config.training import TrainingConfig


def learning_rate_at(step: int, config: TrainingConfig, total_steps: int) -> float:
    """The learning rate for the step that follows `step` earlier ones.

    It rises in a straight line over `warmup_steps`, then falls along a cosine or a line to
    `min_learning_rate` at `total_steps`, or stays ("constant").

    Source:
        Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5,
        for the cosine, here counted from the end of the warm-up.
    """
    highest, lowest = config.learning_rate, config.min_learning_rate
    if step < config.warmup_steps:
        return highest * (step + 1) / (config.warmup_steps + 1)
    if config.schedule == "constant":
        return highest
    done = min(1.0, (step - config.warmup_steps) / max(1, total_steps - config.warmup_steps))
    left = (1 + math.cos(math.pi * done)) / 2 if config.schedule == "cosine" else 1 - done
    return lowest + (highest - lowest) * left
