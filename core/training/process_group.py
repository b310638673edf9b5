"""Processes that train one model together, as torchrun starts them: each computes its rows of every batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from core.batches.distributed import ProcessGroup, Summand, Told
from core.control import StopToken
from core.errors.runs import ProcessLostError

BACKENDS = "cpu:gloo,cuda:nccl"  # by where a tensor is
PATIENCE = timedelta(minutes=30)  # with a process that answers nothing; one that has ended is noticed at once
PATIENCE_WITH_MAIN = timedelta(days=1)  # which makes the data set, writes samples and saves


@dataclass(frozen=True, slots=True)
class TorchGroup(ProcessGroup):
    """The processes of `torch.distributed`. Gradients are summed up once in a step, whatever the passes of it.

    Raises:
        ProcessLostError: From each method: another process has ended, or has answered nothing for half an hour.
    """

    patient: dist.ProcessGroup = field(kw_only=True)

    def all_reduce(self, value: Summand) -> Summand:
        with _raising_lost():
            if isinstance(value, Tensor):
                dist.all_reduce(value)
                return value
            assert isinstance(value, int | float)
            total = torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64)
            dist.all_reduce(total)
            return type(value)(total.item())

    def broadcast(self, value: Told) -> Told:
        with _raising_lost():
            told = [value]
            dist.broadcast_object_list(told, src=0, group=self.patient, device=torch.device("cpu"))
            return told[0]

    def should_stop(self, stop: StopToken) -> bool:
        if self.all_reduce(int(stop.asked)):
            stop.set()  # what is asked of one is asked of all, from here on
        return stop.asked


@contextmanager
def joined() -> Iterator[TorchGroup]:
    """Inside, this process is one of those that torchrun started, and computes on a GPU of its own where there are GPUs.

    Raises:
        ProcessLostError: The others could not be reached.
    """
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    with _raising_lost():
        store, rank, world_size = next(rendezvous("env://", timeout=PATIENCE))
        # torchrun's store outlives a start, and holds where the processes of that one were
        store = dist.PrefixStore(f"start {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)  # type: ignore[attr-defined]  # re-exported
        backends = BACKENDS if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backends, store=store, rank=rank, world_size=world_size, timeout=PATIENCE)
        patient = dist.new_group(backend="gloo", timeout=PATIENCE_WITH_MAIN)
    try:
        yield TorchGroup(dist.get_rank(), dist.get_world_size(), patient=patient)
    finally:
        dist.destroy_process_group()


@contextmanager
def _raising_lost() -> Iterator[None]:
    try:
        yield
    except RuntimeError as cause:  # the only class that gloo's failures have
        raise ProcessLostError from cause
