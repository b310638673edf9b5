"""Batches for a GPU: the next one is made while the step before it runs, and copied without waiting."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

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
        self._thread = ThreadPoolExecutor(1)
        self._next: tuple[int, Future[Batch]] | None = None

    def __call__(self, seen: int) -> Batch:
        expected = self._next
        batch = expected[1].result() if expected and expected[0] == seen else self._make_pinned(seen)
        following = seen + self._stride
        self._next = following, self._thread.submit(self._make_pinned, following)
        x, y = batch
        return x.to(self._device, non_blocking=True), y.to(self._device, non_blocking=True)

    def _make_pinned(self, seen: int) -> Batch:
        """In memory that the system never moves, from which alone a GPU copies while others compute."""
        x, y = self._make(seen)
        return (x.pin_memory(), y.pin_memory()) if self._device.type == "cuda" else (x, y)
