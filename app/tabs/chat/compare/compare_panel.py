"""Comparing, in the place of the conversation: two models side by side, or one run at all its checkpoints."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QStackedWidget, QWidget

from app.tabs.chat.compare.compare_steps import AllCheckpoints
from app.tabs.chat.compare.compare_two import TwoModels
from app.tabs.chat.prompt_edit import PromptEdit
from app.widgets.banner import Banner
from app.widgets.controls.elided_label import ElidedLabel
from app.widgets.controls.run_picker import ChoiceBox
from app.widgets.controls.small import named_button, toggle_button
from app.widgets.flow_layout import flow
from app.widgets.label import Label
from app.widgets.layout import column, row
from app.widgets.theme import MEDIUM
from core.config.sampling import SamplingConfig
from core.runs.catalog import RunSummary
from core.tasks.chat.compare_replies import ComparedPrompt
from core.tasks.models.compared_models import Side

AUTOMATIC, CHAT, COMPLETION = "automatic", "chat", "completion"


class ComparePanel(QWidget):
    """Shows and asks. The sampler is the tab's: whoever holds this panel tells it by `show_sampling`.

    Signals:
        compare_requested: A `ComparedPrompt` for the page in front.
        stop_requested: What is written should end.
        back_requested: Back to the conversation (Esc, where nothing is being written).
        talk_requested: A run and a checkpoint to go on with in the conversation.
        models_changed: Other models are chosen, or another page is in front.
    """

    compare_requested = Signal(object)
    stop_requested = Signal()
    back_requested = Signal()
    talk_requested = Signal(str, str)
    models_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("comparePanel")
        self.setAccessibleName("Compare")
        self._sampling = SamplingConfig()
        self._problem = ""
        self._busy = False
        self.two, self.steps = TwoModels(), AllCheckpoints()
        self._make_head()
        self._make_ask()
        self._lay_out()
        self._connect()
        self._show_what_is_possible()

    @property
    def page(self) -> QWidget:
        return self.two if self.two_button.isChecked() else self.steps

    @property
    def sampling(self) -> SamplingConfig:
        """How replies are drawn."""
        return self._sampling

    def first_focus(self) -> QWidget:
        return self.prompt

    def answers(self) -> bool:
        """Whether the models reply to the prompt as to a message, instead of continuing it as a text."""
        chosen = self.mode_box.currentData()
        if chosen != AUTOMATIC:
            return bool(chosen == CHAT)
        runs = self._runs()
        return bool(runs) and all(run.has_conversations for run in runs)

    # What the controller shows

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        self.two.show_runs(runs)
        self.steps.show_runs(runs)
        self._show_mode()

    def show_sampling(self, sampling: SamplingConfig, problem: str = "") -> None:
        """How replies are drawn; `problem` is why they cannot be so."""
        self._sampling, self._problem = sampling, problem
        self._show_what_is_possible()

    def choose(self, name: str, checkpoint: str) -> None:
        """Show a model first in both pages."""
        self.two.choose(Side(name, checkpoint))
        self.steps.choose(name)
        self._show_mode()

    def show_prompt(self, text: str) -> None:
        self.prompt.setPlainText(text)

    def show_begun(self, prompt: ComparedPrompt) -> None:
        """What was asked for is on its way."""
        self.banner.hide()
        self.seed.setText(f"seed {prompt.sampling.seed}")
        had_focus = self.focusWidget()
        self._busy = True
        if self.page is self.two:
            self.two.begin(prompt)
        else:
            self.steps.begin(prompt)
        self._show_what_is_possible()
        if had_focus is not None and not had_focus.isEnabled():  # Qt would go on to the button that leaves
            self.stop_button.setFocus()

    def show_ended(self) -> None:
        if self.stop_button.hasFocus():
            self.prompt.setFocus()
        self._busy = False
        self.two.end()
        self._show_what_is_possible()

    # Building

    def _make_head(self) -> None:
        self.banner = Banner()
        self.two_button = toggle_button(
            "Two models", "twoModelsButton", "Two models or checkpoints side by side"
        )
        self.steps_button = toggle_button(
            "All checkpoints", "allCheckpointsButton", "One prompt at every checkpoint of a run"
        )
        self._group = QButtonGroup(self)
        for button in (self.two_button, self.steps_button):
            self._group.addButton(button)
        self.two_button.setChecked(True)
        self.mode = ElidedLabel(objectName="compareMode", role="muted")
        self.mode_box = ChoiceBox(
            "compareModeBox", "Mode", "Whether the models answer the prompt or continue it"
        )
        for title, value in (("Automatic", AUTOMATIC), ("Chat", CHAT), ("Completion", COMPLETION)):
            self.mode_box.addItem(title, value)
        self.back_button = named_button(
            "Back to the conversation", "leaveCompareButton", "chat", "Back to the conversation (Esc)"
        )
        self.pages = QStackedWidget()
        self.pages.addWidget(self.two)
        self.pages.addWidget(self.steps)

    def _make_ask(self) -> None:
        self.prompt = PromptEdit()
        self.prompt.setObjectName("comparePromptEdit")
        self.prompt.setAccessibleName("Prompt for all")
        self.prompt.setPlaceholderText("The same prompt for all")
        self.send_button = named_button("Compare", "compareButton", "send", "", "on_accent", role="primary")
        self.stop_button = named_button("Stop", "stopCompareButton", "stop", "End the replies here (Esc)")
        self.seed = Label(objectName="compareSeed", accessibleName="Seed", role="muted")
        self.seed.setToolTip("The seed that all replies were drawn with")
        self._escape = QShortcut(QKeySequence("Esc"), self)
        self._escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def _lay_out(self) -> None:
        head = flow(
            self.two_button, self.steps_button, self.mode_box, (self.mode, 1), self.seed, self.back_button
        )
        column(
            head,
            self.banner,
            (self.pages, 1),
            row(
                (self.prompt, 1),
                (self.send_button, Qt.AlignmentFlag.AlignBottom),
                (self.stop_button, Qt.AlignmentFlag.AlignBottom),
            ),
            of=self,
            spacing=MEDIUM,
        )

    def _connect(self) -> None:
        self.two_button.toggled.connect(self._turn_page)
        self.mode_box.activated.connect(self._show_mode)
        self.prompt.send_requested.connect(self._ask)
        self.prompt.textChanged.connect(self._show_what_is_possible)
        self.send_button.clicked.connect(self._ask)
        self.stop_button.clicked.connect(self.stop_requested)
        self.back_button.clicked.connect(self.back_requested)
        self._escape.activated.connect(self._escape_pressed)
        self.two.talk_requested.connect(self.talk_requested)
        self.two.changed.connect(self._change_models)
        self.steps.run_changed.connect(self._change_models)

    # What the user does

    @Slot()
    def _ask(self) -> None:
        if not self._obstacle():
            self.compare_requested.emit(
                ComparedPrompt(self.prompt.toPlainText(), self.answers(), self._sampling).seeded()
            )

    @Slot()
    def _escape_pressed(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self.back_requested.emit()

    @Slot()
    def _turn_page(self) -> None:
        self.pages.setCurrentWidget(self.two if self.two_button.isChecked() else self.steps)
        self._change_models()

    @Slot()
    def _change_models(self) -> None:
        self._show_mode()
        self.models_changed.emit()

    # What is shown of itself

    def _runs(self) -> list[RunSummary]:
        if self.page is self.two:
            return self.two.runs()
        return [self.steps.run] if self.steps.run is not None else []

    def _obstacle(self) -> str:
        """Why nothing can be compared now; empty where it can."""
        if self._busy:
            return "The replies are still being written."
        if not self._runs() or (self.page is self.two and self.two.sides() is None):
            return "There is no run with a checkpoint yet."
        if self.answers() and not self.prompt.toPlainText().strip():
            return "Type a prompt first."
        return self._problem

    @Slot()
    def _show_mode(self) -> None:
        """Say how the prompt is read, and why."""
        how = "Answered as a message" if self.answers() else "Continued as a text"
        unseen = list(dict.fromkeys(run.name for run in self._runs() if not run.has_conversations))
        if unseen and self.answers():
            why = f": {unseen[0]} was not trained on conversations"
        elif unseen and self.mode_box.currentData() == AUTOMATIC:
            why = f", for {unseen[0]} was not trained on conversations"
        else:
            why = ""
        self.mode.setText(how + why)
        self._show_what_is_possible()

    @Slot()
    def _show_what_is_possible(self) -> None:
        obstacle = self._obstacle()
        self.send_button.setEnabled(not obstacle)
        self.send_button.setToolTip(obstacle or "Run all of them on this prompt (Enter)")
        self.stop_button.setEnabled(self._busy)
        for widget in (self.two_button, self.steps_button, self.mode_box):
            widget.setEnabled(not self._busy)
        self.two.swap_button.setEnabled(not self._busy and self.two.sides() is not None)
        self.steps.choice.set_idle(not self._busy)
