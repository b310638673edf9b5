"""Which of the processes that train one model together this is. One process alone is the default.

A backend for several processes is a subclass of `ProcessGroup` with `all_reduce` and `should_stop` of its own. A run asks
its group for the rest too: which rows of a batch are this process's, what seeds its dropout, whether it writes files.
"""

from dataclasses import dataclass
from typing import TypeVar

from core.control import StopToken

Summand = TypeVar("Summand")  # a number or a tensor


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process's place among `world_size` processes. `rank` counts from 0."""

    rank: int = 0
    world_size: int = 1

    @property
    def is_main(self) -> bool:
        """True for the one process that evaluates, saves checkpoints and writes the journal."""
        return self.rank == 0

    def share_of(self, count: int) -> range:
        """Which of `count` rows are this process's; those of all ranks, in order, are all of them."""
        first, end = (rank * count // self.world_size for rank in (self.rank, self.rank + 1))
        return range(first, end)

    def all_reduce(self, value: Summand) -> Summand:
        """The sum of what all processes have there: a count, a loss or a gradient."""
        return value

    def should_stop(self, stop: StopToken) -> bool:
        """Whether all processes stop now: one that was asked to is enough, and every one gets the same answer."""
        return stop.asked

    def stop_within_step(self, stop: StopToken) -> StopToken:
        """What may end a step halfway. With several processes nothing may: the others would wait for its gradients."""
        return stop if self.world_size == 1 else StopToken()


ONE_PROCESS = ProcessGroup()
