"""Which part of a training step takes how much of its time, by hooks on modules, gradients and the optimizer.

A step on a processor does one thing after the other, so a clock that is read wherever one part ends and another
begins says all. What is attributed to a part in the backward pass lies between the moment at which the gradient of its
output is there and the moment at which that of its input is.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

REST, HEAD, AFTER_BACKWARD = "residuals and the rest", "head and loss", "clipping and reading the loss"
PARTS = {
    "token_embedding": "embedding",
    "position_embedding": "embedding",
    "norm_1": "norms",
    "norm_2": "norms",
    "final_norm": "norms",
    "attention": "attention",
    "feed_forward": "feed-forward",
}


class StepProfile:
    """Seconds by part, from the moment it is made. Only for one process on a processor."""

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._part, self._since = REST, time.perf_counter()
        for name, module in model.named_modules():
            part = PARTS.get(name.rpartition(".")[2])
            if part is not None:
                self._watch(module, part, after=HEAD if name == "final_norm" else REST)
        embedding = model.get_parameter("token_embedding.weight")
        self._handles = [
            embedding.register_post_accumulate_grad_hook(lambda _: self.enter(AFTER_BACKWARD)),
            optimizer.register_step_pre_hook(lambda *_: self.enter("optimizer")),
            optimizer.register_step_post_hook(lambda *_: self.enter(REST)),
        ]

    def enter(self, part: str) -> None:
        """What came before now belongs to the part before; what comes belongs to this one."""
        now = time.perf_counter()
        self.seconds[self._part] += now - self._since
        self._part, self._since = part, now

    def shares(self) -> dict[str, float]:
        """Each part's share of the time until now, from 0 to 1, the largest first."""
        self.enter(REST)
        total = sum(self.seconds.values())
        ranked = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {part: seconds / total for part, seconds in ranked}

    def _watch(self, module: nn.Module, part: str, after: str) -> None:
        backward = f"{part}, backward"

        def begin(_module: nn.Module, inputs: tuple[Any, ...]) -> None:
            if isinstance(inputs[0], Tensor) and inputs[0].requires_grad:
                inputs[0].register_hook(self._entering(REST, only_from=backward))
            self.enter(f"{part}, forward")

        def end(_module: nn.Module, _inputs: tuple[Any, ...], output: Tensor) -> None:
            if output.requires_grad:
                output.register_hook(self._entering(backward))
            self.enter(after)

        module.register_forward_pre_hook(begin)
        module.register_forward_hook(end)

    def _entering(self, part: str, only_from: str = "") -> Callable[[Tensor], None]:
        """A gradient's hook. The input of one part is the output of another, whose hook may have come before."""

        def hook(_gradient: Tensor) -> None:
            if not only_from or self._part == only_from:
                self.enter(part)

        return hook
