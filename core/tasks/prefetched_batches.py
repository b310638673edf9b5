"""Batches for a GPU: the next one is made while the step before it runs, and copied without waiting."""

from collections.abc import Callable

import torch

from core.training.loop import Batch

MakeBatch = Callable[[int], Batch]  # by how many windows of text came before; on the processor


class PrefetchedBatches:
    """What `make` makes, on the device; whatever is asked for, and in which order.

    Args:
        stride: How many windows later the batch is that is likely to be asked for next.
    """

    def __init__(self, make: MakeBatch, device: torch.device, stride: int) -> None:
        self._make, self._device, self._stride = make, device, stride
        self._likely_next = 0
        self._ahead: tuple[int, Batch] | None = None

    def __call__(self, seen: int) -> Batch:
        ahead, self._ahead = self._ahead, None
        self._likely_next = seen + self._stride
        return ahead[1] if ahead and ahead[0] == seen else self._made(seen)

    def make_next(self) -> None:
        """Make the batch that is likely to be asked for next: now, while the device computes."""
        self._ahead = self._likely_next, self._made(self._likely_next)

    def _made(self, seen: int) -> Batch:
        """On its way to the device; from memory that the system never moves, a GPU copies while it computes."""
        x, y = self._make(seen)
        if self._device.type == "cuda":
            x, y = x.pin_memory(), y.pin_memory()
        return x.to(self._device, non_blocking=True), y.to(self._device, non_blocking=True)
