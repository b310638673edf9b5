"""One prompt at every checkpoint of a run: a slider over its steps, and what the model wrote at each."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.tabs.chat.compare.compared_text import ComparedText, shown_prompt
from app.widgets.controls.checkpoint_slider import CheckpointSlider
from app.widgets.controls.run_picker import CheckpointChoice
from app.widgets.controls.small import toggle_button
from app.widgets.label import Label
from app.widgets.layout import column, row
from app.widgets.text_difference import Piece, difference, told
from core.events.comparison import CheckpointReplied
from core.runs.catalog import RunSummary
from core.tasks.chat.compare_replies import ComparedPrompt
from core.wording import counted, figure, number


class AllCheckpoints(QWidget):
    """Shows and asks; what is not written yet comes as it is computed.

    Signals:
        run_changed: Another run was chosen.
        step_requested: The step of the checkpoint that the user, or playing, came to.
    """

    run_changed = Signal()
    step_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice = CheckpointChoice("to look at", only_runs=True, titled=False, prefix="steps")
        self.choice.run_box.setToolTip("The run whose checkpoints write")
        self.slider = CheckpointSlider()
        self.slider.slider.setToolTip("The checkpoint that wrote what is shown (Left, Right)")
        self.marks_button = toggle_button(
            "Mark changes",
            "markChangesButton",
            "Mark what differs from the checkpoint before: added words are underlined, removed ones struck out",
        )
        self.text = ComparedText("stepsText", "Reply at this step", walks=True)
        self.figures = Label(objectName="stepsFigures", wordWrap=True, role="muted")
        self.figures.setAccessibleName("Figures of this step")
        self.figures.setToolTip(
            "The validation loss at this step, and how well the model predicts its own reply"
        )
        self._prompt = ""
        self._replies: Mapping[int, CheckpointReplied] = {}
        self._left_out: Mapping[int, str] = {}
        self._steps: tuple[int, ...] = ()
        self._step: int | None = None
        self._lay_out()
        self._connect()

    @property
    def run(self) -> RunSummary | None:
        return self.choice.run

    @property
    def step(self) -> int | None:
        """Of the checkpoint that is asked for."""
        return self._step

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        self.choice.show_runs(runs)
        there = [run for run in runs if run.last_step is not None]
        if self.choice.run is None and there:
            self.choice.choose(there[0].name, "best")
        self.show_steps()

    def choose(self, name: str) -> None:
        self.choice.choose(name, "best")
        self.show_steps()

    @Slot()
    def show_steps(self) -> None:
        """Let the slider go over the checkpoints of the chosen run; at first its last one is shown."""
        self._steps = self.run.saved_steps if self.run is not None else ()
        self.slider.show_steps(self._steps)
        if self._steps and self._step not in self._steps:
            self._step = self._steps[-1]
            self.slider.show_step(self._step)

    def begin(self, prompt: ComparedPrompt) -> None:
        """Replies to this prompt are on their way."""
        self._prompt = shown_prompt(prompt)
        self.show_replies({}, {})

    def show_replies(self, replies: Mapping[int, CheckpointReplied], left_out: Mapping[int, str]) -> None:
        """What is written so far, by step, and why a step has nothing."""
        self._replies, self._left_out = replies, left_out
        self._show()

    def write(self, step: int, text: str) -> None:
        """A checkpoint is writing; `text` is what it has so far."""
        if step == self._step and step not in self._replies:
            if not text.startswith(self.text.reply) or not self.text.reply:
                self.text.begin(self._prompt)
            self.text.write(text[len(self.text.reply) :])

    def show_step(self, step: int) -> None:
        """Show another checkpoint."""
        self._step = step
        self._show()

    @Slot()
    def _show(self) -> None:
        step = self._step
        if step is None:
            self.figures.setText("This run has no checkpoint yet.")
            return
        shown = self._replies.get(step)
        if shown is None:
            self.text.begin(self._prompt)
            self.figures.setText(self._left_out.get(step, self._progress()))
            if step in self._left_out:
                self.slider.show_step(step)
            return
        before = self._before(step) if self.marks_button.isChecked() else None
        pieces: list[Piece] = [("same", shown.text)]
        if before is not None:
            pieces = difference(before.text, shown.text)
        self.text.show_pieces(self._prompt, pieces)
        self.text.setAccessibleDescription(told(pieces) if before is not None else "")
        self.figures.setText(self._facts(shown, before))
        self.slider.show_step(step)

    def _before(self, step: int) -> CheckpointReplied | None:
        """What the checkpoint before wrote, of those that are there."""
        earlier = [other for other in self._replies if other < step]
        return self._replies[max(earlier)] if earlier else None

    def _facts(self, shown: CheckpointReplied, before: CheckpointReplied | None) -> str:
        loss = "not evaluated" if shown.val_loss is None else f"{figure(shown.val_loss, 4)} nats per token"
        facts = [f"validation loss {loss}", counted(shown.tokens, "token")]
        facts.append(f"{number(shown.tokens_per_second)} tokens/s")
        if shown.perplexity is not None:
            facts.append(f"perplexity {figure(shown.perplexity)}")
        if before is not None:
            facts.append(f"marked against step {before.step:,}")
        facts.append(self._progress())
        return " · ".join(facts)

    def _progress(self) -> str:
        done = len(self._replies) + len(self._left_out)
        if not done and not self._prompt:
            return f"{counted(len(self._steps), 'checkpoint')}; write a prompt, and each of them continues it"
        return f"{done:,} of {counted(len(self._steps), 'checkpoint')} written"

    def _lay_out(self) -> None:
        column(
            row(Label("Run"), (self.choice, 1), self.marks_button),
            self.slider,
            (self.text, 1),
            self.figures,
            of=self,
        )

    def _connect(self) -> None:
        self.choice.open_requested.connect(self._change_run)
        self.slider.step_requested.connect(self.step_requested)
        self.marks_button.toggled.connect(self._show)
        self.text.walked.connect(self._walk)

    @Slot(int)
    def _walk(self, direction: int) -> None:
        (self.slider.next_button if direction > 0 else self.slider.previous_button).click()

    @Slot()
    def _change_run(self) -> None:
        self.slider.stop()
        self._step = None
        self.show_steps()
        self.run_changed.emit()
