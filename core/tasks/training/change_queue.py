"""The requests to put a run into the queue, and to take one out."""

from pathlib import Path

from core.config.run import RunConfig
from core.control import StopToken
from core.events.base import at_once
from core.runs.folder import Workspace
from core.runs.run_queue import QueuedRun, RunQueue


@at_once
def enqueue_run(
    workspace: Workspace, name: str, config: RunConfig, stop: StopToken, place: Path | None = None
) -> QueuedRun:
    """Put a run behind the others, or to its place; arguments and errors as for `RunQueue.add`."""
    del stop  # one small file
    workspace.prepare()
    return RunQueue(workspace).add(name, config, place)


@at_once
def dequeue_run(workspace: Workspace, name: str, stop: StopToken) -> QueuedRun:
    """Take a run out of the queue; errors as for `RunQueue.remove`."""
    del stop
    return RunQueue(workspace).remove(name)
