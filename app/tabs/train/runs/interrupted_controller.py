"""Runs that a kill, a crash or a power cut ended: offered to go on when the window opens."""

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
        # No letters of Alt: those of these words are the chooser's and the menu bar's.
        self._resume = QAction("Resume it", self, toolTip="Go on from its last checkpoint")
        self._resume.triggered.connect(self._ask_to_resume)
        self._leave = QAction(
            "Leave it stopped", self, toolTip="Do not offer this again; it can be resumed later"
        )
        self._leave.triggered.connect(self._leave_stopped)

    def look(self) -> None:
        """Find out whether there is such a run."""
        job = self._queues.start("runs", partial(find_interrupted_runs, self._workspace))
        job.ended.connect(self._offer)
        job.failed.connect(self._report)

    @Slot(object)
    def _offer(self, runs: tuple[RunSummary, ...] | None) -> None:
        if not runs or self._tab.busy:
            return
        self._runs = runs
        others = (
            f" So {'was' if len(runs) == 2 else 'were'} {counted(len(runs) - 1, 'other run')}."
            if runs[1:]
            else ""
        )
        self._tab.unfinished_offer.show_offer(
            f"The run {runs[0].name!r} was interrupted. Its last checkpoint is of step {runs[0].step:,}; "
            f"it goes on from there with the very steps it would have taken.{others}",
            [self._resume, self._leave],
        )
        self.found.emit()

    @Slot()
    def _ask_to_resume(self) -> None:
        self.resume_requested.emit(self._runs[0].name)

    @Slot()
    def _leave_stopped(self) -> None:
        names = tuple(run.name for run in self._runs)
        job = self._queues.start("runs", partial(leave_interrupted, self._workspace, names))
        job.failed.connect(self._report)

    @Slot(object)
    def _report(self, error: Exception) -> None:
        present(error, self._tab.banner)
