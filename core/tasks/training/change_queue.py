"""The requests to put a run into the queue, and to take one out."""

from core.config.run import RunConfig
from core.control import StopToken
from core.events.base import Task
from core.runs.folder import Workspace
from core.runs.run_queue import QueuedRun, RunQueue


def enqueue_run(workspace: Workspace, name: str, config: RunConfig, stop: StopToken) -> Task[QueuedRun]:
    """Put a run behind the others; errors as for `RunQueue.add`."""
    del stop  # one small file
    yield from ()
    workspace.prepare()
    return RunQueue(workspace).add(name, config)


def dequeue_run(workspace: Workspace, name: str, stop: StopToken) -> Task[QueuedRun]:
    """Take a run out of the queue; errors as for `RunQueue.remove`."""
    del stop
    yield from ()
    return RunQueue(workspace).remove(name)
