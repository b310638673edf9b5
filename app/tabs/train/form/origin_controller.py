"""Reads the settings of the run that a start goes out from."""

from functools import partial

from PySide6.QtCore import QObject, Slot

from app.context import Context
from app.errors import present
from app.jobs.newest_job import NewestJob
from app.tabs.train.form.start_from import Origin
from app.tabs.train.tab import TrainTab
from core.config.run import RunConfig
from core.planning.run_plan import ResumedRun
from core.tasks.models.look_at_runs import read_base_settings, read_run_to_resume


class OriginController(QObject):
    """Connects what the tab wants to start from, last of all, with the queue "settings"."""

    def __init__(self, tab: TrainTab, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tab, self._workspace = tab, context.workspace
        self._resumed = ""  # the run that would go on; empty where a checkpoint is fine-tuned
        self._reading = NewestJob(context.queues, "settings", self)
        self._reading.ended.connect(self._show)
        self._reading.failed.connect(self._refuse)
        tab.start_mode.resume_chosen.connect(self._read_settings)
        tab.start_mode.base_chosen.connect(self._read_base)
        tab.start_from.new_chosen.connect(self._reading.forget)

    @Slot(str)
    def _read_settings(self, name: str) -> None:
        self._resumed = name
        self._reading.start(partial(read_run_to_resume, self._workspace, name))

    @Slot(str)
    def _read_base(self, reference: str) -> None:
        self._resumed = ""
        self._reading.start(partial(read_base_settings, self._workspace, reference))

    @Slot(object)
    def _show(self, read: tuple[RunConfig, ResumedRun | None] | RunConfig | None) -> None:
        if read is None:  # the window closes
            return
        if isinstance(read, RunConfig):
            self._tab.start_mode.show_base(read)
        else:
            self._tab.start_mode.show_resume(self._resumed, *read)

    @Slot(object)
    def _refuse(self, error: Exception) -> None:
        self._tab.start_from.choose(Origin.NEW)
        present(error, self._tab.banner)
