"""The request "train the runs in the queue", one after the other."""

from core.control import StopToken
from core.errors.base import UserFacingError
from core.errors.runs import RunBusyError, RunExistsError
from core.events.base import Notice, Task
from core.runs.folder import Workspace
from core.runs.run_queue import RunQueue
from core.tasks.training.train_model import train_model
from core.wording import counted


def train_queue(workspace: Workspace, stop: StopToken) -> Task[tuple[str, ...]]:
    """Train each run in the queue to its end, also those that come into it meanwhile.

    A run that fails does not keep the others from their turn: its failure is reported as a notice. One that fails before it
    has begun stays in the queue.

    Returns:
        The names of the runs that failed.
    """
    queue, failed, tried = RunQueue(workspace), list[str](), set[str]()
    while not stop.asked:
        entry = next((entry for entry in queue.entries() if entry.name not in tried), None)
        if entry is None:
            break
        tried.add(entry.name)
        left = len(set(queue.names()) - tried)
        yield Notice(f"Next in the queue: {entry.name!r}, with {counted(left, 'run')} behind it.")
        if entry.config is None:
            failed.append(entry.name)
            yield Notice(entry.problem)
            continue
        try:
            yield from train_model(workspace, entry.name, entry.config, stop)
        except (RunExistsError, RunBusyError):
            yield Notice(f"Another window or command has taken {entry.name!r} from the queue.")
        except UserFacingError as error:
            failed.append(entry.name)
            yield Notice(f"{entry.name!r} failed: {error.message} {error.remedy}")
    return tuple(failed)
