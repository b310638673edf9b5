"""Waiting for what another process has locked, with one sentence that says so."""

from filelock import FileLock, Timeout

from core.control import StopToken
from core.events.base import Notice, Task
from core.runs.folder import Workspace

POLL_SECONDS = 0.2  # between two looks at the stop


def building_lock(workspace: Workspace) -> FileLock:
    """Whoever holds it may make and remove the workspace's data sets."""
    return FileLock(workspace.datasets / ".building.lock", thread_local=False)


def acquire(lock: FileLock, waiting: str, stop: StopToken) -> Task[None]:
    """Take a lock as soon as no other process has it. The caller releases it.

    Args:
        waiting: What is said once where it must be waited for.

    Raises:
        StopRequested: `stop` was set before.
        OSError: Nothing may be written there.
    """
    said = False
    while True:
        stop.raise_if_asked()
        try:
            lock.acquire(timeout=POLL_SECONDS)
            return
        except Timeout:
            if not said:
                yield Notice(waiting)
            said = True
