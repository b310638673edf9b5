"""Batches for a GPU: the next step's are made while the one before it runs, and copied without waiting."""

from collections.abc import Callable

import torch

from core.batches.sampler import Batch

MakeBatch = Callable[[int], Batch]  # by how many windows of text came before; on the processor


class PrefetchedBatches:
    """What `make` makes, on the device; whatever is asked for, and in which order.

    Args:
        stride: How many windows later the batch is that is likely to be asked for next.
        count: How many batches a step asks for.
    """

    def __init__(self, make: MakeBatch, device: torch.device, stride: int, count: int = 1) -> None:
        self._make, self._device, self._stride, self._count = make, device, stride, count
        self._likely_next = 0
        self._ahead: dict[int, Batch] = {}

    def __call__(self, seen: int) -> Batch:
        self._likely_next = seen + self._stride
        return self._ahead.pop(seen, None) or self._made(seen)

    def make_next(self) -> None:
        """Make the batches that are likely to be asked for next: now, while the device computes."""
        likely = (self._likely_next + number * self._stride for number in range(self._count))
        self._ahead = {seen: self._ahead.get(seen) or self._made(seen) for seen in likely}

    def _made(self, seen: int) -> Batch:
        """On its way to the device; from memory that the system never moves, a GPU copies while it computes."""
        x, y = self._make(seen)
        if self._device.type == "cuda":
            x, y = x.pin_memory(), y.pin_memory()
        return x.to(self._device, non_blocking=True), y.to(self._device, non_blocking=True)
