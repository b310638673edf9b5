"""Lets the open model write a reply, and hands on what it writes."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.job import Job, Stream
from app.jobs.job_queue import JobQueues
from app.model_slot import ModelLease
from app.tabs.chat.draft import Draft
from app.tabs.chat.reply_meter import ReplyMeter
from app.tabs.chat.session import ChatSession
from core.events.base import Event
from core.tasks.models.open_model import OpenModel

QUEUE = "chat"


class ReplyWriter(QObject):
    """One reply at a time.

    Signals:
        grown: The events that came.
        ended: The reply is whole, or was stopped; the exception where it failed, else None.
    """

    grown = Signal(list)
    ended = Signal(object)

    def __init__(
        self,
        queues: JobQueues,
        reply: Callable[..., Stream],
        complete: Callable[..., Stream],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._queues, self._reply, self._complete = queues, reply, complete
        self._job: Job | None = None
        self.session: ChatSession | None = None  # of the last reply
        self.draft = Draft("", "assistant", "")
        self.meter = ReplyMeter(0.0)

    @property
    def busy(self) -> bool:
        return self._job is not None

    def begin(self, session: ChatSession, draft: Draft, lease: ModelLease) -> None:
        """Write a reply, with its model, step and settings in the draft."""
        assert self._job is None, "the reply before has ended, or was left"
        self.session, self.draft = session, draft
        self.meter = ReplyMeter(time.perf_counter())
        self._job = self._queues.start(QUEUE, self._stream(lease.model, draft), doing="Writing")
        lease.hold_for(self._job)
        self._job.arrived.connect(self._take)
        self._job.ended.connect(self._end)
        self._job.failed.connect(self._fail)

    @Slot()
    def stop(self) -> None:
        """Ask for the end of the reply; it keeps what was written."""
        if self._job is not None:
            self._job.stop()

    def leave(self) -> None:
        """End the reply now with what came of it; its job ends in its own time."""
        if self._job is not None:
            self._job.stop()
            self._job.disconnect(self)
            self._finish(None)

    def _stream(self, model: OpenModel, draft: Draft) -> Callable[..., Stream]:
        task, asked = (
            (self._complete, draft.prompt) if draft.role == "text" else (self._reply, draft.messages)
        )
        return partial(task, model, asked, draft.sampling, written=draft.written_ids, details=True)

    @Slot(list)
    def _take(self, events: Sequence[Event]) -> None:
        now = time.perf_counter()
        for event in events:
            self.draft.take(event)
            self.meter.take(event, now)
        self.grown.emit(events)

    @Slot()
    def _end(self) -> None:
        self._finish(None)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        self._job = None
        if not self.draft.reason:
            self.draft.reason = "stopped" if error is None else "failed"
        self.ended.emit(error)
