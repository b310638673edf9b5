"""Runs the task of views whose numbers take long; both of a comparison show the same."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Slot

from app.context import Context
from app.jobs.job import Stream
from app.jobs.newest_job import NewestJob
from app.tabs.inspect.controller import QUEUE, InspectController
from app.tabs.inspect.long_view import LongView
from app.tabs.inspect.view import InspectView
from core.events.base import Event


class LongTask(QObject):
    """Whoever derives from it says what begins the task, what comes of its events, and of its result."""

    def __init__(
        self,
        owner: InspectController,
        context: Context,
        parent: QObject | None = None,
        *,
        task: Callable[..., Stream],
    ) -> None:
        super().__init__(parent)
        self._owner, self._task = owner, task
        self._views: list[LongView] = []
        self._key = owner.key  # of the phrase that the task is about
        self._work = NewestJob(context.queues, QUEUE, self)
        self._work.arrived.connect(self._take)
        self._work.ended.connect(self._end)
        self._work.failed.connect(self._fail)
        owner.outdated.connect(self._work.stop)

    def connect_view(self, view: InspectView) -> None:
        assert isinstance(view, LongView)
        self._views.append(view)
        view.cancel_requested.connect(self._work.stop)

    def _begin(self, *arguments: object) -> None:
        """Run the task, which is given the run's checkpoints and `arguments`, for the phrase that is shown now."""
        self._key = self._owner.key
        self._work.start(partial(self._task, self._owner.checkpoints(), *arguments))
        self._show_progress(0, 1)

    def _show_progress(self, done: int, total: int) -> None:
        for view in self._views:
            view.show_progress(done, total)

    @Slot(list)
    def _take(self, events: Sequence[Event]) -> None:
        raise NotImplementedError

    @Slot(object)
    def _end(self, _result: Any) -> None:
        for view in self._views:
            view.show_ended()

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._end(None)
        self._owner.present(error)
