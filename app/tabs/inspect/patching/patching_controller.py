"""Computes the map of the view "Patching"."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.jobs.job import Stream
from app.jobs.job_queue import JobQueues
from app.jobs.newest_job import NewestJob
from app.tabs.inspect.controller import QUEUE, InspectController
from app.tabs.inspect.patching.patching_view import PatchingView
from app.tabs.inspect.view import InspectView
from core.events.base import Event
from core.inspection.patch_map import PatchMap, PatchPart
from core.tasks.inspection.patch_phrases import PatchAdvanced, PatchRequest, patch_step


class PatchingController(QObject):
    """Connects the view with its task."""

    def __init__(
        self,
        owner: InspectController,
        queues: JobQueues,
        parent: QObject | None = None,
        *,
        task: Callable[..., Stream] = patch_step,
    ) -> None:
        super().__init__(parent)
        self._owner, self._task = owner, task
        self._views: list[PatchingView] = []
        self._key = owner.key
        self._work = NewestJob(queues, QUEUE, self)
        self._work.arrived.connect(self._take)
        self._work.ended.connect(self._end)
        self._work.failed.connect(self._fail)
        owner.outdated.connect(self._work.stop)

    def connect_view(self, view: InspectView) -> None:
        assert isinstance(view, PatchingView)
        self._views.append(view)
        view.patch_requested.connect(self._start)
        view.cancel_requested.connect(self._work.stop)

    @Slot(str, str)
    def _start(self, source_text: str, what: PatchPart) -> None:
        self._key = self._owner.key
        request = PatchRequest(self._key.request, source_text, what)
        self._work.start(partial(self._task, self._owner.checkpoints(), self._key.step, request))
        for view in self._views:
            view.show_progress(0, 1)

    @Slot(list)
    def _take(self, events: Sequence[Event]) -> None:
        last = events[-1]
        if isinstance(last, PatchAdvanced):
            for view in self._views:
                view.show_progress(last.done, last.total)

    @Slot(object)
    def _end(self, found: PatchMap | None) -> None:
        for view in self._views:
            view.show_ended()
        if found is not None:
            self._owner.attach_patch_map(self._key, found)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._end(None)
        self._owner.present(error)
