"""What the window is working at, at the end of its status bar."""

from PySide6.QtCore import Slot

from app.jobs.job_queue import JobQueues
from app.widgets.label import Label


class DoingLabel(Label):
    """What the queues are doing, and whether that is paused; empty where there is nothing to tell."""

    def __init__(self, queues: JobQueues) -> None:
        super().__init__(objectName="doingLabel")
        self._queues = queues
        queues.busy_changed.connect(self._show)
        queues.paused_changed.connect(self._show)

    @Slot()
    def _show(self) -> None:
        queues = self._queues
        self.setText(
            "   ".join(queues.doing(name) + " (paused)" * queues.paused(name) for name in queues.active())
        )
