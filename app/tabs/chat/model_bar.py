"""Which model to talk with, and how: run, checkpoint, and whether it answers or continues the text."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.widgets.elided_box import ElidedBox
from app.widgets.label import Label
from app.widgets.run_list import RunList
from app.widgets.theme import SMALL
from core.runs.catalog import RunSummary

COMPLETION, CHAT = "completion", "chat"


class ModelBar(QWidget):
    """Three boxes in a row.

    Signals:
        open_requested: A run's name and a checkpoint: "best", "last" or a step.
        mode_changed: The user chose another way to talk.
    """

    open_requested = Signal(str, str)
    mode_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs = RunList(self)
        self._make_boxes()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        for title, box, stretch in (
            ("&Run", self.run_box, 3),
            ("Chec&kpoint", self.checkpoint_box, 2),
            ("Mo&de", self.mode_box, 1),
        ):
            layout.addWidget(Label(title, buddy=box))
            layout.addWidget(box, stretch=stretch)
        self.show_runs([])

    @property
    def continues(self) -> bool:
        """True where the model continues the prompt's text instead of answering it."""
        return bool(self.mode_box.currentData() == COMPLETION)

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """Show the runs that have a checkpoint; what was chosen stays chosen."""
        name, checkpoint = self._chosen_name(), self.checkpoint_box.currentData()
        self._runs.show([run for run in runs if run.last_step is not None])
        self.choose(name, checkpoint or "best")
        self.run_box.setPlaceholderText("Choose a run" if self.has_runs() else "No runs yet")

    def choose(self, name: str, checkpoint: str) -> None:
        """Show a run and a checkpoint in the boxes without asking for them."""
        self.run_box.setCurrentIndex(self._runs.row(name))
        self._fill_checkpoints()
        self.checkpoint_box.setCurrentIndex(max(self.checkpoint_box.findData(checkpoint), 0))

    def show_mode(self, *, continues: bool) -> None:
        self.mode_box.setCurrentIndex(self.mode_box.findData(COMPLETION if continues else CHAT))

    def set_idle(self, idle: bool) -> None:
        """While a reply comes, the model stays."""
        for box in (self.run_box, self.checkpoint_box, self.mode_box):
            box.setEnabled(idle)

    def has_runs(self) -> bool:
        return self._runs.rowCount() > 0

    def _make_boxes(self) -> None:
        self.run_box = _box("runBox", "Run", "The run to talk with; choosing one opens its best checkpoint")
        self.run_box.setModel(self._runs)
        self.run_box.activated.connect(self._open_best)
        self.checkpoint_box = _box("checkpointBox", "Checkpoint", "The state of the run to talk with")
        self.checkpoint_box.activated.connect(self._open_chosen)
        self.mode_box = _box("modeBox", "Mode", "Whether the model answers you or continues your text")
        self.mode_box.addItem("Chat", CHAT)
        self.mode_box.addItem("Completion", COMPLETION)
        for row, text in enumerate(
            ("The model answers as in a conversation", "The model continues your text")
        ):
            self.mode_box.setItemData(row, text, Qt.ItemDataRole.ToolTipRole)
        self.mode_box.activated.connect(self.mode_changed)

    def _fill_checkpoints(self) -> None:
        self.checkpoint_box.clear()
        run = self._runs.run(self.run_box.currentIndex())
        if run is None:
            return
        self.checkpoint_box.addItem(f"best: step {run.best_step:,}", "best")
        self.checkpoint_box.addItem(f"last: step {run.last_step:,}", "last")
        for step in reversed(run.checkpoints):
            self.checkpoint_box.addItem(f"step {step:,}", str(step))

    def _chosen_name(self) -> str:
        run = self._runs.run(self.run_box.currentIndex())
        return run.name if run else ""

    @Slot()
    def _open_best(self) -> None:
        self._fill_checkpoints()
        self._open_chosen()

    @Slot()
    def _open_chosen(self) -> None:
        self.open_requested.emit(self._chosen_name(), self.checkpoint_box.currentData())


def _box(name: str, title: str, tooltip: str) -> ElidedBox:
    box = ElidedBox(name)
    box.setToolTip(tooltip)
    box.setAccessibleName(title)
    box.setMinimumContentsLength(6)
    return box
