"""What the window is working at, at the end of its status bar."""

from PySide6.QtCore import Slot

from app.jobs.job_queue import JobQueues
from app.widgets.label import Label

DOING = {"corpus": "Reading files", "training": "Training", "chat": "Writing"}


class DoingLabel(Label):
    """A word for each queue that has work, and whether it is paused; empty where none has."""

    def __init__(self, queues: JobQueues) -> None:
        super().__init__(objectName="doingLabel")
        self._queues = queues
        queues.busy_changed.connect(self._show)
        queues.paused_changed.connect(self._show)

    @Slot()
    def _show(self) -> None:
        active = self._queues.active()
        self.setText("   ".join(DOING[name] + " (paused)" * self._queues.paused(name) for name in active))
