"""The request to see what there is for a run on this machine: memory, disk, and how long its steps take."""

import shutil
from collections.abc import Generator
from dataclasses import dataclass

import psutil

from core.config.run import RunConfig
from core.control import StopToken
from core.events import Event, StepTimes
from core.runs.folder import Workspace
from core.tasks.step_times import known_times


@dataclass(frozen=True, slots=True)
class Machine:
    """What is free, in bytes, 0 where that is not known; `times` are those of the run's steps, where they are known.

    Of a run that was timed on a GPU, the memory is all of the GPU's.
    """

    memory_bytes: int = 0
    disk_bytes: int = 0
    times: StepTimes | None = None

    @property
    def has_gpu(self) -> bool:
        """Whether the run was timed on a GPU."""
        return self.times is not None and self.times.device_bytes > 0


def look_at_machine(workspace: Workspace, run: RunConfig, stop: StopToken) -> Generator[Event, None, Machine]:
    """Look, without timing anything."""
    del stop  # a moment
    yield from ()
    times = known_times(workspace, run)
    return on_machine(Machine(_free_memory(), _free_disk(workspace)), times)


def on_machine(machine: Machine, times: StepTimes | None) -> Machine:
    """The machine with these times, and the memory that they were measured with."""
    memory = times.device_bytes if times and times.device_bytes else machine.memory_bytes
    return Machine(memory, machine.disk_bytes, times)


def _free_memory() -> int:
    """Of the RAM: a run that swaps takes for ever."""
    try:
        return int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return 0


def _free_disk(workspace: Workspace) -> int:
    try:
        return shutil.disk_usage(workspace.root).free
    except OSError:  # not made yet
        return 0
