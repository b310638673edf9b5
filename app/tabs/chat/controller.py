"""Turns what the Chat tab asks into core tasks, and hands their events back."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.errors import present
from app.jobs.job import Job, Stream
from app.jobs.job_queue import JobQueues
from app.jobs.refresher import Refresher
from app.model_slot import ModelSlot
from app.tabs.chat.conversation import Conversation, Turn
from app.tabs.chat.reply_meter import ReplyMeter
from app.tabs.chat.tab import ChatTab
from core.config.sampling import SamplingConfig
from core.events import Event, Notice
from core.runs.folder import Workspace
from core.tasks.look_at_runs import RunsListed, list_runs
from core.tasks.open_model import OpenModel, open_model
from core.tasks.reply import complete, reply


class ChatController(QObject):
    """Connects the tab, the queue "chat", and the one open model."""

    def __init__(
        self,
        tab: ChatTab,
        workspace: Workspace,
        queues: JobQueues,
        parent: QObject | None = None,
        *,
        open: Callable[..., Stream] = open_model,
        reply: Callable[..., Stream] = reply,
        complete: Callable[..., Stream] = complete,
    ) -> None:
        super().__init__(parent)
        self._tab, self._workspace, self._queues = tab, workspace, queues
        self._open_model, self._reply, self._complete = open, reply, complete
        self.slot = ModelSlot(self)
        self._runs = Refresher(queues, "runs", partial(list_runs, workspace), self)
        self._conversation = Conversation()
        self._meter = ReplyMeter()
        self._job: Job | None = None
        self._name = self._checkpoint = ""  # of the model that is open, or on its way
        self._prompt = ""  # to be put in once the model is open
        self.slot.changed.connect(self._show_model)
        self._runs.refreshed.connect(self._show_runs)
        self._runs.failed.connect(self._fail_to_list)
        tab.open_requested.connect(self._open)
        tab.send_requested.connect(self._send)
        tab.regenerate_requested.connect(self._regenerate)
        tab.stop_requested.connect(self.stop)
        tab.new_chat_requested.connect(self._begin_anew)

    @property
    def active(self) -> bool:
        """True while a model is being opened or a reply written."""
        return self._job is not None

    def open(self, name: str, prompt: str) -> None:
        """Open the best checkpoint of a run and put `prompt` in, ready to be sent."""
        self.refresh()
        self._open(name, "best")
        self._prompt = prompt

    @Slot()
    def stop(self) -> None:
        """Ask for the end of what is being done; a reply keeps what was written."""
        if self._job is not None:
            self._job.stop()

    @Slot()
    def refresh(self) -> None:
        """Read anew which runs there are."""
        self._runs.refresh()

    @Slot(object)
    def _show_runs(self, listed: RunsListed) -> None:
        self._tab.show_runs(listed.runs)
        if self._name:  # it may be newer than the runs that were listed before
            self._tab.show_chosen(self._name, self._checkpoint)

    @Slot(object)
    def _fail_to_list(self, error: Exception) -> None:
        present(error, self._tab.banner)

    # Opening a model

    @Slot(str, str)
    def _open(self, name: str, checkpoint: str) -> None:
        self._abandon()
        if name != self._name:
            self._begin_anew()
        self._name, self._checkpoint, self._prompt = name, checkpoint, ""
        self.slot.release()
        self._tab.show_opening(name, checkpoint)
        self._job = self._queues.start("chat", partial(self._open_model, self._workspace, name, checkpoint))
        self._job.arrived.connect(self._show_notices)
        self._job.ended.connect(self._take_model)
        self._job.failed.connect(self._fail_to_open)

    @Slot(list)
    def _show_notices(self, events: Sequence[Event]) -> None:
        """What there is to say of a model on its way, such as of a damaged pointer."""
        for event in events:
            if isinstance(event, Notice):
                self._tab.banner.show_notice(event.text)

    @Slot(object)
    def _take_model(self, model: OpenModel) -> None:
        self._job = None
        self.slot.put(model)
        if self._prompt:
            self._tab.show_prompt(self._prompt)

    @Slot(object)
    def _fail_to_open(self, error: Exception) -> None:
        self._job = None
        self._show_model()
        present(error, self._tab.banner)

    @Slot()
    def _show_model(self) -> None:
        self._tab.show_model(self.slot.model)

    # Talking with it

    @Slot(str, bool, object)
    def _send(self, prompt: str, continues: bool, sampling: SamplingConfig) -> None:
        if not self.active:
            self._ask(self._conversation.begin(prompt, continues=continues), sampling)

    @Slot(object)
    def _regenerate(self, sampling: SamplingConfig) -> None:
        if not self.active and self._conversation.turns:
            again = self._conversation.take_back()
            self._tab.show_turns(self._conversation.turns)
            self._ask(self._conversation.begin(again.prompt, continues=again.continues), sampling)

    def _ask(self, turn: Turn, sampling: SamplingConfig) -> None:
        model = self.slot.model
        if turn.continues:
            stream = partial(self._complete, model, turn.prompt, sampling)
        else:
            stream = partial(self._reply, model, self._conversation.messages(), sampling)
        self._meter = ReplyMeter()
        self._tab.show_sent(turn)
        self._job = self._queues.start("chat", stream)
        self._job.arrived.connect(self._take_events)
        self._job.ended.connect(self._end_reply)
        self._job.failed.connect(self._fail_reply)

    @Slot(list)
    def _take_events(self, events: Sequence[Event]) -> None:
        turn = self._conversation.turns[-1]
        written = turn.reply
        for event in events:
            self._conversation.take(event)
            self._meter.take(event, time.perf_counter())
        if not turn.reply.startswith(written):  # the end of the reply was a stop text, which is taken back
            self._tab.show_turns(self._conversation.turns)
            written = turn.reply
        self._tab.show_written(turn.reply[len(written) :], self._meter)

    @Slot()
    def _end_reply(self) -> None:
        self._job = None
        self._tab.show_reply_ended()

    @Slot(object)
    def _fail_reply(self, error: Exception) -> None:
        self._end_reply()
        present(error, self._tab.banner)

    @Slot()
    def _begin_anew(self) -> None:
        self._abandon()
        self._conversation = Conversation()
        self._tab.show_turns([])

    def _abandon(self) -> None:
        """Ask the job to end, and take no more events of it."""
        if self._job is not None:
            self._job.stop()
            self._job.disconnect(self)
            self._job = None
            self._tab.show_reply_ended()
