"""Puts a phrase in for a newcomer: what the run wrote as a sample last, or how its validation text begins."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.job import Job, Stream
from app.jobs.job_queue import JobQueues
from core.runs.folder import Workspace
from core.tasks.inspection.suggest_phrase import Suggestion, suggest_phrase

QUEUE = "suggestion"


class PhraseSuggestion(QObject):
    """Reads a suggestion for a run; of several that are asked for, the last counts.

    Signals:
        found: The `Suggestion`; not emitted where there is none.
        failed: The exception that ended the reading.
    """

    found = Signal(object)
    failed = Signal(object)

    def __init__(
        self,
        workspace: Workspace,
        queues: JobQueues,
        parent: QObject | None = None,
        *,
        task: Callable[..., Stream] = suggest_phrase,
    ) -> None:
        super().__init__(parent)
        self._workspace, self._queues, self._task = workspace, queues, task
        self._job: Job | None = None

    def ask(self, name: str) -> None:
        """Look for something to look at with a run's model."""
        if self._job is not None:
            self._job.stop()
            self._job.disconnect(self)
        self._job = self._queues.start(QUEUE, partial(self._task, self._workspace, name))
        self._job.ended.connect(self._take)
        self._job.failed.connect(self._fail)

    @Slot(object)
    def _take(self, suggestion: Suggestion | None) -> None:
        self._job = None
        if suggestion is not None:
            self.found.emit(suggestion)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._job = None
        self.failed.emit(error)
