"""Computes the phrase at every checkpoint of the run, for the view "Through training"."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.jobs.job import Stream
from app.jobs.job_queue import JobQueues
from app.jobs.newest_job import NewestJob
from app.tabs.inspect.controller import QUEUE, InspectController
from app.tabs.inspect.training.training_view import TrainingView
from app.tabs.inspect.view import InspectView
from core.events.base import Event, Notice
from core.inspection.captured import MeasuredPass
from core.tasks.inspection.inspect_checkpoints import CheckpointInspected, inspect_checkpoints


class TrainingController(QObject):
    """Connects the view with its task. What was computed on the way is there for the slider too."""

    def __init__(
        self,
        owner: InspectController,
        queues: JobQueues,
        parent: QObject | None = None,
        *,
        task: Callable[..., Stream] = inspect_checkpoints,
    ) -> None:
        super().__init__(parent)
        self._owner, self._task = owner, task
        self._views: list[TrainingView] = []
        self._measured: list[MeasuredPass] = []
        self._key = owner.key
        self._work = NewestJob(queues, QUEUE, self)
        self._work.arrived.connect(self._take)
        self._work.ended.connect(self._end)
        self._work.failed.connect(self._fail)
        owner.outdated.connect(self._work.stop)

    def connect_view(self, view: InspectView) -> None:
        assert isinstance(view, TrainingView)
        self._views.append(view)
        view.curves_requested.connect(self._start)
        view.cancel_requested.connect(self._work.stop)
        view.step_requested.connect(self._owner.show_step)

    @Slot()
    def _start(self) -> None:
        self._measured, self._key = [], self._owner.key
        self._work.start(partial(self._task, self._owner.checkpoints(), self._key.request))
        for view in self._views:
            view.show_progress(0, 1)

    @Slot(list)
    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Notice):
                self._owner.tab.banner.show_notice(event.text)
            elif isinstance(event, CheckpointInspected):
                self._owner.captures.put(self._key._replace(step=event.inspected.step), event.inspected)
                if event.measured is not None:
                    self._measured.append(event.measured)
                for view in self._views:
                    view.show_progress(event.done, event.total)
        self._owner.attach_history(self._key, tuple(self._measured))
        self._owner.look()

    @Slot()
    def _end(self) -> None:
        for view in self._views:
            view.show_ended()

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._end()
        self._owner.present(error)
