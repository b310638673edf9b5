"""The request to see what there is for a run on this machine: memory, disk, and how long its steps take."""

import shutil

from core.config.run import RunConfig
from core.control import StopToken
from core.events.base import at_once
from core.planning.machine import Machine
from core.planning.step_times import known_times
from core.runs.folder import Workspace
from core.system.memory import free_bytes


@at_once
def look_at_machine(workspace: Workspace, run: RunConfig, stop: StopToken) -> Machine:
    """Look, without timing anything."""
    del stop  # a moment
    return Machine(free_bytes() or 0, _free_disk(workspace)).with_times(known_times(workspace, run))


def _free_disk(workspace: Workspace) -> int:
    try:
        return shutil.disk_usage(workspace.root).free
    except OSError:  # not made yet
        return 0
