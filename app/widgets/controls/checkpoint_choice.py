"""Which model: a run and one of its checkpoints, in two boxes side by side."""

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QComboBox, QWidget

from app.widgets.controls.elided_box import ElidedBox
from app.widgets.controls.run_list import RunList
from app.widgets.label import Label
from app.widgets.layout import row
from core.runs.catalog import RunSummary


class CheckpointChoice(QWidget):
    """A box of runs and a box of the chosen run's checkpoints; `row` takes further boxes beside them.

    Signals:
        open_requested: A run's name and a checkpoint: "best", "last", a step or the name of a kept one.
    """

    open_requested = Signal(str, str)

    def __init__(
        self,
        purpose: str,
        parent: QWidget | None = None,
        *,
        only_runs: bool = False,
        titled: bool = True,
        prefix: str = "",
    ) -> None:
        """`purpose` ends a sentence in the tool tips, such as "to chat with".

        With `only_runs` the box of checkpoints is left out: something else chooses among them. Where there are several
        choices on a page, they are not `titled`, for a title's letter is a key, and have a `prefix` in the names of their boxes.
        """
        super().__init__(parent)
        self._runs = RunList(self)
        self._titled = titled
        names = [
            f"{prefix}{name[0].upper()}{name[1:]}" if prefix else name for name in ("runBox", "checkpointBox")
        ]
        self.run_box = choice_box(
            names[0], "Run", f"The run {purpose}; selecting one opens its best checkpoint"
        )
        self.run_box.setModel(self._runs)
        self.run_box.activated.connect(self._open_best)
        self.checkpoint_box = choice_box(names[1], "Checkpoint", f"The state of the run {purpose}")
        self.checkpoint_box.activated.connect(self._open_chosen)
        self.row = row(of=self)
        self.add_box("&Run", self.run_box, 3)
        if only_runs:
            self.checkpoint_box.setParent(self)
            self.checkpoint_box.hide()
        else:
            self.add_box("Chec&kpoint", self.checkpoint_box, 2)
        self.show_runs([])

    def add_box(self, title: str, box: QWidget, stretch: int) -> None:
        if self._titled:
            self.row.addWidget(Label(title, buddy=box))
        self.row.addWidget(box, stretch=stretch)

    @property
    def run(self) -> RunSummary | None:
        """The run that is chosen."""
        return self._runs.find(self.run_box.currentIndex())

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """Show the runs that have a checkpoint, and those that cannot be read; what was chosen stays chosen."""
        name, checkpoint = self._chosen_name(), self.checkpoint_box.currentData()
        self._runs.show([run for run in runs if run.last_step is not None or run.problem])
        self.choose(name, checkpoint or "best")
        self.run_box.setPlaceholderText("Select a run" if self.has_runs() else "No runs yet")

    def choose(self, name: str, checkpoint: str, step: int | None = None) -> None:
        """Show a run and a checkpoint in the boxes without asking for them.

        Args:
            step: Of the model that is open, which is shown where the best or the last checkpoint is another one by now.
        """
        self.run_box.setCurrentIndex(self._runs.place(name))
        self._fill_checkpoints()
        if step is not None and self.newer_step(checkpoint, step) is not None:
            checkpoint = str(step)
            if self.checkpoint_box.findData(checkpoint) < 0:  # it is only in memory any more
                self.checkpoint_box.addItem(f"step {step:,}", checkpoint)
        self.checkpoint_box.setCurrentIndex(max(self.checkpoint_box.findData(checkpoint), 0))

    def newer_step(self, checkpoint: str, step: int) -> int | None:
        """The step of the chosen run's best or last checkpoint where that is not `step` any more; else None."""
        if self.run is None:
            return None
        now = {"best": self.run.best_step, "last": self.run.last_step}.get(checkpoint)
        return now if now != step else None

    def set_idle(self, idle: bool) -> None:
        """While the model is at work, it stays."""
        for box in (self.run_box, self.checkpoint_box):
            box.setEnabled(idle)

    def has_runs(self) -> bool:
        return self._runs.has_checkpoints()

    def _fill_checkpoints(self) -> None:
        self.checkpoint_box.clear()
        if self.run is not None:
            add_checkpoints(self.checkpoint_box, self.run, self.run.checkpoints)

    def _chosen_name(self) -> str:
        return self.run.name if self.run else ""

    @Slot()
    def _open_best(self) -> None:
        self._fill_checkpoints()
        self._open_chosen()

    @Slot()
    def _open_chosen(self) -> None:
        self.open_requested.emit(self._chosen_name(), self.checkpoint_box.currentData())


def add_checkpoints(box: QComboBox, run: RunSummary, steps: Sequence[int]) -> None:
    """Offer the best and the last one of a run, those that are kept under a name, and those of `steps`, the newest first."""
    box.addItem(f"best: step {run.best_step:,}", "best")
    box.addItem(f"last: step {run.last_step:,}", "last")
    for name in run.kept:
        box.addItem(f"kept: {name}", name)
    for step in reversed(steps):
        box.addItem(f"step {step:,}", str(step))


def choice_box(name: str, title: str, tooltip: str) -> ElidedBox:
    """A box that gives way where there is little room."""
    box = ElidedBox(name)
    box.setToolTip(tooltip)
    box.setAccessibleName(title)
    box.setMinimumContentsLength(6)
    return box
