"""What a run needs of a machine: free memory and disk, and how long its steps take there."""

from dataclasses import dataclass

from core.events.runs import StepTimes


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

    def with_times(self, times: StepTimes | None) -> "Machine":
        """The machine with these times, and the memory that they were measured with."""
        memory = times.device_bytes if times and times.device_bytes else self.memory_bytes
        return Machine(memory, self.disk_bytes, times)
