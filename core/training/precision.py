"""In which number format the matrix products run; the weights themselves stay float32.

Source:
    Micikevicius et al., "Mixed Precision Training", 2018: float32 master weights (3.1), loss scaling (3.2).
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch

PrecisionName = Literal["float32", "bfloat16", "float16"]


class Precision:
    """How to run one forward pass, and how to keep half-precision gradients from vanishing.

    Args:
        casts: Whether `autocast` casts the weights; False for a model whose linear layers have the format already.
    """

    def __init__(self, name: PrecisionName, device: torch.device, casts: bool = True) -> None:
        self.name = name
        self.device = device
        self._casts = casts and name != "float32"
        self.scaler = torch.amp.GradScaler(device.type, enabled=name == "float16")

    def autocast(self) -> AbstractContextManager[object]:
        """A context in which matrix products run in this format."""
        if not self._casts:
            return nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.name))

    def halve_scale(self) -> None:
        """After an overflow: scale the loss by half as much, and count anew the steps until it may grow."""
        self.scaler.update(self.scaler.get_scale() / 2)  # given a scale, it leaves the count as it was
        self.scaler.load_state_dict(self.scaler.state_dict() | {"_growth_tracker": 0})


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
