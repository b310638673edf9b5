"""The request to see what there is for a run on this machine: memory, disk, and how long its steps take."""

import shutil
from collections.abc import Generator

import psutil

from core.config.run import RunConfig
from core.control import StopToken
from core.events.base import Event
from core.planning.machine import Machine
from core.planning.step_times import known_times
from core.runs.folder import Workspace


def look_at_machine(workspace: Workspace, run: RunConfig, stop: StopToken) -> Generator[Event, None, Machine]:
    """Look, without timing anything."""
    del stop  # a moment
    yield from ()
    return Machine(_free_memory(), _free_disk(workspace)).with_times(known_times(workspace, run))


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
