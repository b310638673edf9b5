"""What the run in the form comes to, and what is likely to go wrong with it, before it starts."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.tabs.train import facts
from app.widgets.label import Label, without_mnemonic
from app.widgets.theme import SMALL, TINY, set_role
from core.config.run import RunConfig
from core.corpus.library import CorpusTotals
from core.tasks.plan_warnings import plan_warnings
from core.tasks.proposals import PlanWarning, Proposal


class PlanFacts(QWidget):
    """Two or three lines of facts, or why there is no run; below them the gravest warning, and a change that would help.

    Signals:
        proposal_accepted: The `RunConfig` that the user would rather have.
    """

    proposal_accepted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._proposal: Proposal | None = None
        self.parameters = Label(objectName="parameterFacts", wordWrap=True)
        self.corpus_facts = Label(objectName="corpusFacts", wordWrap=True)
        self.corpus_facts.setToolTip("Estimates; the exact figures follow once the tokenizer is learned")
        self.snapshot_facts = Label(objectName="snapshotFacts", wordWrap=True)
        for label in (self.corpus_facts, self.snapshot_facts):
            set_role(label, "muted")
        self._make_warning()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        layout.addWidget(self.parameters)
        layout.addWidget(self.corpus_facts)
        layout.addWidget(self.snapshot_facts)
        layout.addWidget(self.warning)

    def show_problem(self, problem: str) -> None:
        """There is no run to say anything of."""
        set_role(self.parameters, "error")
        self.parameters.setText(problem)
        self.corpus_facts.clear()
        self.snapshot_facts.hide()
        self.warning.hide()

    def show_run(self, run: RunConfig, totals: CorpusTotals, *, warns: bool = True) -> None:
        """Say what a run comes to on a corpus of this size; with `warns`, also what may go wrong."""
        set_role(self.parameters, "")
        self.parameters.setText(facts.parameters(run))
        self.corpus_facts.setText(facts.corpus(run, totals))
        self.snapshot_facts.setText(snapshots := facts.snapshots(run, totals))
        self.snapshot_facts.setVisible(bool(snapshots))
        self._show_warnings(plan_warnings(run, totals) if warns else [])

    def _make_warning(self) -> None:
        self.warning = QFrame(objectName="planWarning")
        set_role(self.warning, "caution")
        self.warning_label = Label(objectName="planWarningLabel", wordWrap=True)
        self.proposal_button = QPushButton(
            objectName="proposalButton", toolTip="Put this change into the form"
        )
        self.proposal_button.setAccessibleName("Proposed change")
        self.proposal_button.clicked.connect(self._accept)
        row = QHBoxLayout()
        row.addWidget(self.proposal_button)
        row.addStretch()
        layout = QVBoxLayout(self.warning)
        layout.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        layout.setSpacing(SMALL)
        layout.addWidget(self.warning_label)
        layout.addLayout(row)
        self.warning.hide()

    def _show_warnings(self, warnings: list[PlanWarning]) -> None:
        """The first; where that is mended, the next."""
        self.warning.setVisible(bool(warnings))
        if not warnings:
            return
        gravest = warnings[0]
        self.warning_label.setText(f"{gravest.message} {gravest.remedy}")
        self.warning_label.setToolTip("\n".join(warning.message for warning in warnings))
        self._proposal = gravest.proposal
        self.proposal_button.setVisible(gravest.proposal is not None)
        if gravest.proposal is not None:
            self.proposal_button.setText(without_mnemonic(gravest.proposal.title))
            self.proposal_button.setAccessibleName(gravest.proposal.title)

    @Slot()
    def _accept(self) -> None:
        if self._proposal is not None:
            self.proposal_accepted.emit(self._proposal.run)
