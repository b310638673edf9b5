"""One of two models side by side: which it is, what it wrote, and its figures."""

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.tabs.chat.compare.compared_text import ComparedText
from app.tabs.chat.reply_meter import ENDINGS
from app.widgets.controls.run_picker import CheckpointChoice
from app.widgets.controls.small import application, named_button
from app.widgets.label import Label
from app.widgets.layout import STRETCH, column, row
from app.widgets.theme import SMALL, TINY, set_role
from core.events.comparison import SideEnded, SideOpened, SideScored
from core.runs.catalog import RunSummary
from core.tasks.models.compared_models import Side
from core.wording import counted, figure, number

FIGURES_TIP = (
    "Tokens and speed of this reply; how well the model predicts its own reply and that of the other model, as perplexity: "
    "1 is certain, and with one vocabulary the lower one knows the text better"
)


class CompareColumn(QFrame):
    """Shows and asks.

    Signals:
        changed: Another run or checkpoint was chosen.
        talk_requested: A run and a checkpoint to go on talking with.
    """

    changed = Signal()
    talk_requested = Signal(str, str)

    def __init__(self, letter: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.letter = letter
        set_role(self, "card")
        name = f"model{letter}"
        self.choice = CheckpointChoice("to compare", titled=False, prefix=name)
        for box, title in ((self.choice.run_box, "Run"), (self.choice.checkpoint_box, "Checkpoint")):
            box.setAccessibleName(f"{title} of model {letter}")
        self.text = ComparedText(f"{name}Text", f"Reply of model {letter}")
        self.figures = Label(objectName=f"{name}Figures", wordWrap=True, role="muted")
        self.figures.setAccessibleName(f"Figures of model {letter}")
        self.figures.setToolTip(FIGURES_TIP)
        self.copy_button = named_button("Copy", f"{name}Copy", "copy", f"Copy the reply of model {letter}")
        self.talk_button = named_button(
            "Chat with this model", f"{name}Talk", "chat", f"Continue the conversation with model {letter}"
        )
        self._lay_out()
        self.choice.open_requested.connect(self._report_choice)
        self.copy_button.clicked.connect(self._copy)
        self.talk_button.clicked.connect(self._ask_to_talk)
        self._ended: SideEnded | None = None
        self._scored: SideScored | None = None
        self._show_what_is_possible()

    @property
    def side(self) -> Side | None:
        """What is chosen; None where there is no run."""
        run = self.choice.run
        return Side(run.name, self.choice.checkpoint_box.checkpoint) if run is not None else None

    def show_runs(self, runs: Sequence[RunSummary], default: int) -> None:
        """The runs that there are; where none was chosen, the one in this place, or the newest."""
        self.choice.show_runs(runs)
        there = [run for run in runs if run.last_step is not None]
        if self.choice.run is None and there:
            self.choice.choose(there[min(default, len(there) - 1)].name, "best")
            if default >= len(there):  # one run: its last checkpoint beside its best one
                self.choice.choose(there[-1].name, "last")
        self._show_what_is_possible()

    @property
    def state(self) -> tuple[str, str] | None:
        """The run and the step, or the name of a kept checkpoint: what tells two models apart."""
        run, side = self.choice.run, self.side
        if run is None or side is None:
            return None
        return run.name, str(run.named_steps.get(side.checkpoint, side.checkpoint))

    def choose(self, side: Side) -> None:
        self.choice.choose(side.name, side.checkpoint)

    def choose_other_than(self, state: tuple[str, str] | None) -> None:
        """Select the newest other run, else another checkpoint of the same one; the same where there is no other."""
        for run_row in range(self.choice.run_box.count()):
            self.choice.run_box.setCurrentIndex(run_row)
            if self.choice.run is not None and state is not None and self.choice.run.name != state[0]:
                self.choice.choose(self.choice.run.name, "best")
                return
        if state is not None:
            self.choice.choose(state[0], "last")
            box = self.choice.checkpoint_box
            for place in range(box.count()):
                if self.state != state:
                    return
                box.setCurrentIndex(place)

    def begin(self, prompt: str) -> None:
        """A reply to this prompt is on its way."""
        self._ended = self._scored = None
        self.text.begin(prompt)
        self.figures.setText("Opening the model…")
        self._show_what_is_possible()

    def show_opened(self, opened: SideOpened) -> None:
        self.figures.setText(
            f"{opened.name} at step {opened.step:,} · {counted(opened.parameters, 'parameter')}"
        )

    def show_ended(self, ended: SideEnded) -> None:
        self._ended = ended
        self.text.correct(ended.text)
        self._show_figures()
        self._show_what_is_possible()

    def show_scored(self, scored: SideScored) -> None:
        self._scored = scored
        self._show_figures()

    def set_idle(self, idle: bool) -> None:
        self.choice.set_idle(idle)
        self._show_what_is_possible()

    def _show_figures(self) -> None:
        if self._ended is None:
            return
        ended = self._ended
        parts = [
            f"step {ended.step:,}",
            counted(ended.tokens, "token"),
            f"{number(ended.tokens_per_second)} tokens/s",
        ]
        if ended.perplexity is not None:
            parts.append(f"perplexity {figure(ended.perplexity)}")
        if self._scored is not None:
            parts.append(f"of the other reply {figure(self._scored.perplexity)}")
        if ENDINGS[ended.reason]:
            parts.append(ENDINGS[ended.reason])
        self.figures.setText(" · ".join(parts))

    def _show_what_is_possible(self) -> None:
        self.copy_button.setEnabled(bool(self.text.reply))
        self.talk_button.setEnabled(self.choice.run is not None)

    def _lay_out(self) -> None:
        heading = Label(self.letter, role="subtitle")
        column(
            row(heading, (self.choice, 1)),
            (self.text, 1),
            self.figures,
            row(self.copy_button, self.talk_button, STRETCH),
            of=self,
            margins=SMALL,
            spacing=TINY,
        )

    @Slot()
    def _report_choice(self) -> None:
        self.changed.emit()

    @Slot()
    def _copy(self) -> None:
        application().clipboard().setText(self.text.reply)

    @Slot()
    def _ask_to_talk(self) -> None:
        side = self.side
        if side is not None:
            self.talk_requested.emit(side.name, side.checkpoint)
