"""In which number format the matrix products run; the weights themselves stay float32.

Source:
    Micikevicius et al., "Mixed Precision Training", 2018: float32 master weights (3.1), loss scaling (3.2).
"""

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch

from core.control import StopRequested, StopToken

PrecisionName = Literal["float32", "bfloat16", "float16"]

WORTH_IT = 1.2  # measured speed-up below which float32's exactness is worth more
ROUNDS = 5
TRIAL_TOKENS = 2048  # say as much of the speed as a large batch, in a fraction of its time and memory
LONGEST_SECONDS = 10.0  # a large model's few steps say enough


class Precision:
    """How to run one forward pass, and how to keep half-precision gradients from vanishing."""

    def __init__(self, name: PrecisionName, device: torch.device) -> None:
        self.name = name
        self.device = device
        self.scaler = torch.amp.GradScaler(device.type, enabled=name == "float16")

    def autocast(self) -> AbstractContextManager[object]:
        """A context in which matrix products run in this format."""
        if self.name == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.name))

    def halve_scale(self) -> None:
        """After an overflow: scale the loss by half as much, and count anew the steps until it may grow."""
        self.scaler.update(self.scaler.get_scale() / 2)  # given a scale, it leaves the count as it was
        self.scaler.load_state_dict(self.scaler.state_dict() | {"_growth_tracker": 0})


def measured_choice(
    device: torch.device, step_in: Callable[[Precision], None], stop: StopToken
) -> tuple[PrecisionName, float] | None:
    """The fastest format that is safe on this device, found by running a few steps in each.

    Args:
        step_in: Runs one forward and backward pass in the precision it is given, and changes no weight;
            raises `StopRequested` where `stop` ends it early.

    Returns:
        The format, and how many times faster than float32 it ran, 1.0 where nothing was measured;
        None where `stop` was set before it was known.
    """
    if device.type != "cpu":
        return gpu_format(device), 1.0
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return "float32", 1.0
    try:
        speed_up = _speed_up(device, step_in, stop)
    except StopRequested:
        return None
    return ("bfloat16" if speed_up >= WORTH_IT else "float32"), speed_up


def _speed_up(device: torch.device, step_in: Callable[[Precision], None], stop: StopToken) -> float:
    """How many times faster than float32 bfloat16 runs, from steps of both in turn until the time is over."""
    times: dict[PrecisionName, list[float]] = {"float32": [], "bfloat16": []}
    started = time.perf_counter()
    for name in (*times,) * (ROUNDS + 1):
        stop.raise_if_asked()
        if all(times.values()) and time.perf_counter() - started > LONGEST_SECONDS:
            break
        before = time.perf_counter()
        step_in(Precision(name, device))
        times[name].append(time.perf_counter() - before)
    whole_rounds = len(times["bfloat16"])
    warm = slice(min(1, whole_rounds - 1), whole_rounds)  # the first of each warms up, if there is another
    return statistics.median(times["float32"][warm]) / statistics.median(times["bfloat16"][warm])


def gpu_format(device: torch.device) -> PrecisionName:
    """bfloat16 where the GPU has it in hardware, else float16; float32 on devices that are neither."""
    if device.type != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


def choose_device(requested: str) -> torch.device | None:
    """The device of that name, or the best there is for "auto"; None where it is not to be had."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if requested == "auto":
        requested = next(name for name in ("cuda", "mps", "cpu") if available[name])
    return torch.device(requested) if available[requested] else None
