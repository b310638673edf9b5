"""The request to see which runs there are."""

from collections.abc import Generator
from dataclasses import dataclass

from core.control import StopToken
from core.events import Event
from core.runs.catalog import Catalog, RunSummary
from core.runs.folder import Workspace


@dataclass(frozen=True, slots=True)
class RunsListed:
    """The runs, the last changed first, and a name that the next one can have."""

    runs: tuple[RunSummary, ...]
    unused_name: str


def list_runs(workspace: Workspace, stop: StopToken) -> Generator[Event, None, RunsListed]:
    """Every run with its checkpoints and its size on the disk: all files of all runs are looked at."""
    del stop  # nothing to keep of a part of them
    yield from ()
    catalog = Catalog(workspace)
    return RunsListed(tuple(catalog.runs()), catalog.unused_name())
