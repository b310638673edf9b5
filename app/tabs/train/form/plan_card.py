"""What the run in the form comes to, and what is likely to go wrong with it, before it starts."""

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QStackedLayout, QVBoxLayout, QWidget

from app.tabs.train.form.plan_warning import PlanWarningFrame
from app.widgets.controls.elided_label import ElidedLabel
from app.widgets.controls.usage_bar import UsageBar
from app.widgets.label import Label
from app.widgets.theme import MEDIUM, SMALL, TINY, set_role
from core.config.run import RunConfig
from core.corpus.passages import CorpusTotals
from core.planning.machine import Machine
from core.planning.plan_card import NOT_KNOWN, PlanRow, plan_rows
from core.planning.plan_warnings import plan_warnings
from core.planning.step_times import timed_settings

ROWS = {  # what `plan_rows` gives, by name, with the titles
    "parameters": "Parameters",
    "corpus": "Corpus",
    "ratio": "Tokens per parameter",
    "epochs": "Epochs",
    "memory": "Memory",
    "disk": "Disk",
    "time": "Time",
}
WITH_BAR = ("memory", "disk")
MEASURING = "measuring…"
COUNTING, COUNTING_HELP = "counting…", "The chosen documents are being counted."
MARGINS = (MEDIUM, SMALL, MEDIUM, SMALL)
LINE_PX = 2  # between rows that are read as one block


class PlanCard(QWidget):
    """Rows of facts, or why there is no run; below them what may go wrong, and a change that would help.

    Signals:
        proposal_accepted: The `RunConfig` that the user would rather have.
    """

    proposal_accepted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: RunConfig | None = None
        self._totals = CorpusTotals(0, 0, 0)
        self._counting, self._warns = False, True
        self._machine = Machine()
        self._measuring, self._failure = False, ""
        self.values = {name: ElidedLabel(objectName=f"{name}Fact") for name in ROWS}
        self.bars = {name: UsageBar(ROWS[name]) for name in WITH_BAR}
        self.problem = Label(objectName="planProblem", wordWrap=True)
        set_role(self.problem, "error")
        self.warning = PlanWarningFrame()
        self.warning.proposal_accepted.connect(self.proposal_accepted)
        self._lay_out()

    @property
    def machine(self) -> Machine:
        """What is known of the machine for the run that is shown."""
        return self._machine

    def show_problem(self, problem: str) -> None:
        """There is no run to say anything of."""
        self._run = None
        self.problem.setText(problem)
        self._pages.setCurrentWidget(self.problem)
        self.warning.show_warnings([])

    def show_run(
        self, run: RunConfig, totals: CorpusTotals, *, counting: bool = False, warns: bool = True
    ) -> None:
        """Say what a run comes to on a corpus of this size, unless that is being counted.

        With `warns`, also what may go wrong.
        """
        if self._run is None or timed_settings(run) != timed_settings(self._run):
            self._machine = replace(self._machine, times=None)
            self._measuring, self._failure = False, ""
        self._run, self._totals, self._counting = run, totals, counting
        self._warns = warns and not counting
        self._pages.setCurrentWidget(self._facts)
        self._show()

    def show_machine(self, machine: Machine) -> None:
        """What there is for the run that is shown."""
        self._machine = machine
        self._show()

    def show_measuring(self, measuring: bool) -> None:
        """Whether the run's steps are being timed."""
        self._measuring, self._failure = measuring, ""
        self._show()

    def show_failure(self, reason: str) -> None:
        """The run's steps could not be timed."""
        self._measuring, self._failure = False, reason
        self._show()

    # Building

    def _lay_out(self) -> None:
        self._facts = QWidget()
        grid = QGridLayout(self._facts)
        grid.setContentsMargins(*MARGINS)
        grid.setHorizontalSpacing(SMALL)
        grid.setVerticalSpacing(LINE_PX)
        grid.setColumnStretch(1, 1)
        for place, (name, title) in enumerate(ROWS.items()):
            caption = Label(title)
            set_role(caption, "muted")
            value = self.values[name]
            value.setAccessibleName(title)
            grid.addWidget(caption, place, 0)
            grid.addWidget(value, place, 1, 1, 1 if name in self.bars else 2)
            if name in self.bars:
                grid.addWidget(self.bars[name], place, 2, Qt.AlignmentFlag.AlignVCenter)
        self._frame = QFrame(objectName="planCard")
        set_role(self._frame, "panel")
        self._pages = QStackedLayout(self._frame)
        self.problem.setContentsMargins(*MARGINS)
        self.problem.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._pages.addWidget(self._facts)
        self._pages.addWidget(self.problem)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        layout.addWidget(self._frame)
        layout.addWidget(self.warning)

    # What is shown

    def _show(self) -> None:
        if self._run is None:
            return
        for row in plan_rows(self._run, self._totals, self._machine):
            self._show_row(self._with_state(row))
        self.warning.show_warnings(
            plan_warnings(self._run, self._totals, self._machine) if self._warns else []
        )

    def _show_row(self, row: PlanRow) -> None:
        self.values[row.name].setText(row.value)
        self.values[row.name].setToolTip(row.detail)
        if row.name in self.bars:
            self.bars[row.name].show_share(row.share)
            self.bars[row.name].setToolTip(row.detail)

    def _with_state(self, row: PlanRow) -> PlanRow:
        """The row, or what becomes of it."""
        if self._counting:
            return replace(row, value=COUNTING, detail=COUNTING_HELP, share=None)
        if row.name != "time" or self._machine.times is not None:
            return row
        if self._failure:
            return replace(row, value="not known", detail=self._failure)
        return replace(row, value=MEASURING if self._measuring else NOT_KNOWN)
