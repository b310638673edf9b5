"""What is told of runs, checkpoints and data sets that were renamed, removed or restored."""

from dataclasses import dataclass

from core.events.base import Event


@dataclass(frozen=True, slots=True)
class RunRenamed(Event):
    """A run has another name, and what names it follows."""

    name: str
    new: str


@dataclass(frozen=True, slots=True)
class RunsRemoved(Event):
    """Runs are moved aside, with all their files. They can be restored for a day; then `bytes` are free."""

    names: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class RunRestored(Event):
    """A removed run is back: under the name that it had, or under `new`."""

    name: str
    new: str


@dataclass(frozen=True, slots=True)
class RemovedRunsForgotten(Event):
    """Removed runs are gone for good. `bytes` are free now."""

    names: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class CheckpointsRemoved(Event):
    """Checkpoints and snapshots of a run are gone for good. `bytes` are free now, without what kept ones share."""

    name: str
    steps: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class DatasetsRemoved(Event):
    """Data sets are gone. `bytes` are free now."""

    names: tuple[str, ...]
    bytes: int
