"""Which jobs run beside each other: one at a time in each named queue, the next ones queued behind it."""

from collections import deque

from PySide6.QtCore import (
    QCoreApplication,
    QDeadlineTimer,
    QEventLoop,
    QObject,
    Qt,
    QThread,
    Signal,
    Slot,
)

from app.jobs.job import Job, OpenStream

QUEUES = ("corpus", "training", "chat")
# What a user need not know of: it neither keeps the window busy nor from closing, and its jobs end soon when asked.
BACKGROUND_QUEUES = (
    "library",
    "preview",
    "search",
    "watch",
    "totals",
    "documents",
    "runs",
    "settings",
    "plan",
    "model",
    "inspect",
    "suggestion",
    "tokens",
    "plane",
    "report",
    "curves",
    "baselines",
    "conversations",
    "seen",
    "next token",
    "ranking",
    "compare",
    "serve",
)
LOOK_MS = 2


class JobQueues(QObject):
    """All the work of the window. Whatever `start` returns ends through its own `ended` or `failed`.

    Signals:
        busy_changed: A queue's name, and whether it now has work. A queue is idle only after everyone who
            listens to its last job was notified of the end.
        idle: No queue has work any more, but for the quiet ones.
        paused_changed: A queue's name, not one of the quiet ones: its job is now held back, or goes on.
        stop_overdue: A queue's name, not one of the quiet ones: its job was asked to end and does not.
    """

    busy_changed = Signal(str, bool)
    idle = Signal()
    paused_changed = Signal(str)
    stop_overdue = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._closing = False
        self._queues = {name: _JobQueue(name, self) for name in (*QUEUES, *BACKGROUND_QUEUES)}
        for queue in self._queues.values():
            queue.busy_changed.connect(self._pass_on)
        for name in QUEUES:
            self._queues[name].stop_overdue.connect(self.stop_overdue)
            self._queues[name].paused_changed.connect(self.paused_changed)

    def start(self, queue: str, open_stream: OpenStream) -> Job:
        """A job on `queue`: started now, or as soon as the work before it has ended."""
        job = self._queues[queue].start(open_stream)
        if self._closing:
            job.stop()
        return job

    def busy(self, queue: str) -> bool:
        return self._queues[queue].busy

    def paused(self, queue: str) -> bool:
        """True while the queue's job is held back."""
        return self._queues[queue].paused

    def active(self) -> list[str]:
        """The queues that have work, but for the quiet ones."""
        return [name for name in QUEUES if self._queues[name].busy]

    def overdue(self) -> list[str]:
        """The queues whose job was asked to end and does not, but for the quiet ones."""
        return [name for name in QUEUES if self._queues[name].overdue]

    def at_rest(self) -> bool:
        """True while no queue at all has work."""
        return not self.at_work()

    def at_work(self) -> list[str]:
        """All queues that have work, the quiet ones too."""
        return [name for name, queue in self._queues.items() if queue.busy]

    def stop(self, queue: str) -> None:
        """Ask the queue's job, and those queued behind it, to end."""
        self._queues[queue].stop()

    def stop_all(self) -> None:
        for queue in self._queues.values():
            queue.stop()

    def close_down(self) -> None:
        """Ask all work to end, and what is still begun as well: `idle` comes soon, and for good."""
        self._closing = True
        self.stop_all()

    def wait_all(self, timeout_ms: int) -> bool:
        """Block until all work, what waits in a queue too, and every thread is gone, or the time is over.

        Only where no event loop runs any more.

        Returns:
            Whether all are gone. Where one is not, Qt aborts the process as soon as the thread's object goes.
        """
        deadline = QDeadlineTimer(timeout_ms)
        while not self.at_rest() and not deadline.hasExpired():
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
            QThread.msleep(LOOK_MS)  # what a job's end begins is done too: a message that is still to be kept
        gone = [job.wait(deadline.remainingTime()) for job in Job.running]  # a list: each of them is asked
        return all(gone)

    @Slot(str, bool)
    def _pass_on(self, queue: str, busy: bool) -> None:
        self.busy_changed.emit(queue, busy)
        if queue in QUEUES and not self.active():
            self.idle.emit()


class _JobQueue(QObject):
    """A queue of jobs of which the first one runs."""

    busy_changed = Signal(str, bool)
    paused_changed = Signal(str)
    stop_overdue = Signal(str)

    def __init__(self, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._name = name
        self._jobs: deque[Job] = deque()

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    @property
    def paused(self) -> bool:
        return self.busy and self._jobs[0].paused

    @property
    def overdue(self) -> bool:
        return self.busy and self._jobs[0].overdue

    def start(self, open_stream: OpenStream) -> Job:
        job = Job(open_stream, self)
        # Queued: whoever listens to the job learns of its end before the queue goes on.
        job.ended.connect(self._advance, Qt.ConnectionType.QueuedConnection)
        job.failed.connect(self._advance, Qt.ConnectionType.QueuedConnection)
        job.paused_changed.connect(self._pass_on_paused)
        job.stop_overdue.connect(self._pass_on_overdue)
        self._jobs.append(job)
        if len(self._jobs) == 1:
            job.start()
            self.busy_changed.emit(self._name, True)
        return job

    def stop(self) -> None:
        for job in self._jobs:
            job.stop()

    @Slot(bool)
    def _pass_on_paused(self, _paused: bool) -> None:
        self.paused_changed.emit(self._name)

    @Slot()
    def _pass_on_overdue(self) -> None:
        self.stop_overdue.emit(self._name)

    @Slot()
    def _advance(self) -> None:
        self._jobs.popleft().deleteLater()
        if self._jobs:
            self._jobs[0].start()
        else:
            self.busy_changed.emit(self._name, False)
