"""Runs that ended with the program, by a kill, a crash, a power cut or a window that closed: offered to go on when it opens."""

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction

from app.context import Context
from app.errors import present
from app.tabs.train.tab import TrainTab
from core.runs.catalog import RunSummary
from core.tasks.models.look_at_runs import find_interrupted_runs, leave_interrupted
from core.wording import counted


class InterruptedController(QObject):
    """Looks once, and offers the run that was trained last.

    Attributes:
        cut_off: The run that was stopped because the window closed; "" where none was, or where the user has answered.

    Signals:
        found: There is something to offer.
        resume_requested: The name of the run that should go on.
    """

    found = Signal()
    resume_requested = Signal(str)

    def __init__(self, tab: TrainTab, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tab, self._workspace, self._queues = tab, context.workspace, context.queues
        self._runs: tuple[RunSummary, ...] = ()
        self.cut_off = ""
        # No letters of Alt: those of these words are the chooser's and the menu bar's.
        self._resume = QAction("Go on", self, toolTip="Go on from its last checkpoint")
        self._resume.triggered.connect(self._ask_to_resume)
        self._leave = QAction(
            "Leave it stopped", self, toolTip="Do not offer this again; it can be resumed later"
        )
        self._leave.triggered.connect(self._leave_stopped)

    def look(self) -> None:
        """Find out whether there is such a run."""
        job = self._queues.start(
            "runs", partial(find_interrupted_runs, self._workspace, cut_off=self.cut_off)
        )
        job.ended.connect(self._offer)
        job.failed.connect(self._report)

    @Slot(object)
    def _offer(self, runs: tuple[RunSummary, ...] | None) -> None:
        if not runs or self._tab.busy:
            return
        self._runs = runs
        others = f" {counted(len(runs) - 1, 'other run')} stopped, too." if runs[1:] else ""
        self._tab.unfinished_offer.show_offer(
            f"Go on with {runs[0].name!r}, stopped at {runs[0].how_far}?{others}",
            [self._resume, self._leave],
        )
        self.found.emit()

    @Slot()
    def _ask_to_resume(self) -> None:
        self.cut_off = ""
        self.resume_requested.emit(self._runs[0].name)

    @Slot()
    def _leave_stopped(self) -> None:
        self.cut_off = ""
        names = tuple(run.name for run in self._runs)
        job = self._queues.start("runs", partial(leave_interrupted, self._workspace, names))
        job.failed.connect(self._report)

    @Slot(object)
    def _report(self, error: Exception) -> None:
        present(error, self._tab.banner)
