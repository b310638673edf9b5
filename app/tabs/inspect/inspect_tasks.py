"""What computes for the Inspect tab: a test has its own."""

from collections.abc import Callable
from dataclasses import dataclass

from app.jobs.job import Stream
from core.runs.folder import Workspace
from core.tasks.inspection.inspect_checkpoints import inspect_step
from core.tasks.inspection.inspect_phrase import inspect_phrase
from core.tasks.inspection.suggest_phrase import suggest_phrase
from core.tasks.models.run_checkpoints import RunCheckpoints


@dataclass(frozen=True, slots=True)
class InspectTasks:
    """Each gives a stream, but for `checkpoints`, which reads nothing yet."""

    inspect: Callable[..., Stream] = inspect_phrase
    inspect_step: Callable[..., Stream] = inspect_step
    checkpoints: Callable[[Workspace, str], RunCheckpoints] = RunCheckpoints
    suggest: Callable[..., Stream] = suggest_phrase
