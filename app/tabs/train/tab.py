"""The Train tab: a form that asks for a run, and the curves, figures and samples of the one that trains."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.tabs.train import facts
from app.tabs.train.curves import Curves
from app.tabs.train.progress import Progress, alike_in_a_row
from app.tabs.train.run_chooser import RunChooser
from app.tabs.train.run_form import RunForm
from app.tabs.train.samples import Samples
from app.tabs.train.tokenizer_window import TokenizerWindow
from app.widgets.banner import Banner, BannerStack
from app.widgets.controls import named_button, scrolled
from app.widgets.empty_state import EmptyState
from app.widgets.icons import give_icon
from app.widgets.label import Label
from app.widgets.theme import HUGE, LARGE, MEDIUM, SMALL, set_role
from core.config.corpus import CleaningConfig
from core.config.run import RunConfig
from core.corpus.library import CorpusTotals
from core.events import Event, Notice, SampleWritten
from core.runs.catalog import RunSummary

FORM_WIDTH_PX = 380
NO_RUN = "Choose a preset and press Start, or look at an earlier run."


class TrainTab(QWidget):
    """Shows and asks; it starts nothing.

    Signals:
        start_requested: A new run's name and its `RunConfig`.
        pause_requested, go_on_requested, stop_requested: For the run that trains.
        resume_requested: The name of an earlier run that should go on.
        run_chosen: The name of an earlier run whose curves should be shown.
        corpus_requested: The way to where documents are added.
        tokenizer_requested: The `RunConfig` whose tokenizer should be looked at.
    """

    start_requested = Signal(str, object)
    pause_requested = Signal()
    go_on_requested = Signal()
    stop_requested = Signal()
    resume_requested = Signal(str)
    run_chosen = Signal(str)
    corpus_requested = Signal()
    tokenizer_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trainTab")
        self.setAccessibleName("Train")
        self._totals = CorpusTotals(documents=0, characters=0, bytes=0)
        self._training = self._paused = self._stopping = False
        self._progress: Progress | None = None
        self._make_widgets()
        self._lay_out()
        self._connect()
        self._show_what_is_possible()

    # What the controller shows

    def show_run(self, name: str, run: RunConfig) -> None:
        """Put a run that was asked for elsewhere into the form."""
        self.form.show_run(run)
        self.form.show_name(name)

    @Slot(object)
    def show_cleaning(self, config: CleaningConfig) -> None:
        """How the text of every run is cleaned from now on."""
        self.form.show_cleaning(config)

    def show_totals(self, totals: CorpusTotals) -> None:
        """The text that a run would be trained on."""
        self._totals = totals
        self._show_what_is_possible()

    def show_runs(self, runs: Sequence[RunSummary], chosen: str = "") -> None:
        """The runs there are; `chosen` is the one whose curves are shown, if any."""
        self.chooser.show_runs(runs, chosen)

    def clear_run(self) -> None:
        """Make room for the curves of another run."""
        self._progress = Progress()
        self.curves.clear()
        self.samples.forget()
        self._show_progress()

    @Slot()
    def show_started(self) -> None:
        """A run trains from now on: the form waits, the buttons work."""
        self._training, self._paused, self._stopping = True, False, False
        self.banner.hide()
        self.clear_run()
        self._show_what_is_possible()

    @Slot(list)
    def show_events(self, events: Sequence[Event]) -> None:
        """Take in what the run, or its journal, says next."""
        if self._progress is None:
            self._progress = Progress()
        self._progress.take_all(events)
        for kind, alike in alike_in_a_row(events):
            if kind is SampleWritten:
                self.samples.add_all(alike)
            elif kind is Notice:
                self.banner.show_notice(alike[-1].text)
        self.curves.show_events(events)
        self._show_progress()

    @Slot(bool)
    def show_paused(self, paused: bool) -> None:
        self._paused = paused
        self._show_what_is_possible()
        self._show_progress()

    @Slot()
    def show_stopping(self) -> None:
        self._stopping = True
        self._show_what_is_possible()
        self._show_progress()

    @Slot()
    def show_ended(self) -> None:
        """The form is the user's again; the curves stay."""
        self._training = self._paused = self._stopping = False
        self._show_what_is_possible()
        self._show_progress()

    # Building

    def _make_widgets(self) -> None:
        self.banner = Banner()
        self.form = RunForm()
        self.tokenizer_window = TokenizerWindow(self)
        self.parameters = Label(wordWrap=True)
        self.corpus_facts = Label(wordWrap=True)
        self.corpus_facts.setToolTip("Estimates; the exact figures follow once the tokenizer is learned")
        set_role(self.corpus_facts, "muted")
        self.start_button = named_button(
            "&Start", "startButton", "play", "Train the run that the form describes", "on_accent"
        )
        set_role(self.start_button, "primary")
        self.pause_button = named_button("Pa&use", "pauseButton", "pause", "Hold the run between two steps")
        self.stop_button = named_button(
            "S&top", "stopButton", "stop", "End the run at the next step and save it"
        )
        self._run_buttons = (self.start_button, self.pause_button, self.stop_button)
        self.chooser = RunChooser()
        self.status = Label(objectName="statusLabel", wordWrap=True)
        self.status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.status.setAccessibleName("Progress of the run")
        self.status.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        self.status.setMinimumHeight(2 * self.status.fontMetrics().lineSpacing())  # or the plots jump
        self.progress_bar = QProgressBar(
            objectName="runProgress", textVisible=False, maximum=1000, visible=False
        )
        self.progress_bar.setAccessibleName("Part of the steps taken")
        kept = self.progress_bar.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # or the plots move when it comes
        self.progress_bar.setSizePolicy(kept)
        self.curves = Curves()
        self.samples = Samples()
        self._make_empty_corpus()

    def _make_empty_corpus(self) -> None:
        self.empty_corpus = QFrame(objectName="emptyCorpus")
        set_role(self.empty_corpus, "notice")
        self.corpus_button = named_button(
            "Go to &Corpus", "corpusButton", "corpus", "Add documents, or try the sample"
        )
        sentence = Label("There is no text to train on yet.", wordWrap=True)
        layout = QHBoxLayout(self.empty_corpus)
        layout.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        layout.addWidget(sentence, stretch=1)
        layout.addWidget(self.corpus_button)

    def _lay_out(self) -> None:
        split = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        split.addWidget(self._left())
        split.addWidget(self._right())
        split.setStretchFactor(1, 1)
        split.setSizes([FORM_WIDTH_PX, 3 * FORM_WIDTH_PX])
        split.setHandleWidth(SMALL)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(HUGE, LARGE, HUGE, LARGE)
        layout.setSpacing(MEDIUM)
        layout.addWidget(split, stretch=1)
        BannerStack(self, [self.banner], over=[self.pages])

    def _left(self) -> QWidget:
        inner = QWidget()
        inner_layout = QVBoxLayout(inner)
        inner_layout.setContentsMargins(0, 0, MEDIUM, 0)
        inner_layout.addWidget(self.form)
        scroll = scrolled(inner)
        buttons = QHBoxLayout()
        buttons.setSpacing(SMALL)
        for button in self._run_buttons:
            buttons.addWidget(button, stretch=1)
        left = QWidget()
        left.setMinimumWidth(FORM_WIDTH_PX - HUGE)
        layout = QVBoxLayout(left)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.empty_corpus)
        layout.addWidget(scroll, stretch=1)
        layout.addWidget(self.parameters)
        layout.addWidget(self.corpus_facts)
        layout.addLayout(buttons)
        layout.addSpacing(SMALL)
        layout.addWidget(self.chooser)
        return left

    def _right(self) -> QWidget:
        split = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        split.addWidget(self.curves)
        split.addWidget(self.samples)
        split.setSizes([500, 120])
        split.setHandleWidth(SMALL)
        self.pages = QStackedWidget()
        self.pages.addWidget(EmptyState("The curves of a run appear here", NO_RUN))
        self.pages.addWidget(split)
        right = QWidget()
        layout = QVBoxLayout(right)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.status)
        layout.addWidget(self.progress_bar)
        layout.addWidget(self.pages, stretch=1)
        return right

    def _connect(self) -> None:
        self.form.changed.connect(self._show_what_is_possible)
        self.form.tokenizer_requested.connect(self._ask_for_tokenizer)
        self.start_button.clicked.connect(self._ask_to_start)
        self.pause_button.clicked.connect(self._ask_to_pause)
        self.stop_button.clicked.connect(self.stop_requested)
        self.corpus_button.clicked.connect(self.corpus_requested)
        self.chooser.chosen.connect(self.run_chosen)
        self.chooser.resume_requested.connect(self.resume_requested)

    # What the user asks

    @Slot()
    def _ask_to_start(self) -> None:
        self.start_requested.emit(self.form.name(), self.form.value())

    @Slot()
    def _ask_for_tokenizer(self) -> None:
        self.banner.hide()
        self.tokenizer_requested.emit(self.form.value())

    @Slot()
    def _ask_to_pause(self) -> None:
        (self.go_on_requested if self._paused else self.pause_requested).emit()

    # What is shown of itself

    @Slot()
    def _show_what_is_possible(self) -> None:
        obstacle = self._obstacle()
        had_focus = any(button.hasFocus() for button in self._run_buttons)
        self.start_button.setEnabled(not obstacle)
        self.start_button.setToolTip(obstacle or "Train the run that the form describes")
        self.form.setEnabled(not self._training)
        self.form.tokenizer_button.setEnabled(bool(self._totals.characters) and not self.form.value_problem())
        self.chooser.set_idle(not self._training)
        self.pause_button.setEnabled(self._training and not self._stopping)
        self.stop_button.setEnabled(self._training and not self._stopping)
        self.pause_button.setText("Res&ume" if self._paused else "Pa&use")
        self.pause_button.setToolTip(
            "Go on with the run" if self._paused else "Hold the run between two steps"
        )
        give_icon(self.pause_button, "resume" if self._paused else "pause")
        self.empty_corpus.setVisible(not self._totals.characters)
        if had_focus and not any(button.hasFocus() for button in self._run_buttons):
            self.curves.loss.setFocus()  # where the arrow keys do something; Qt would take any next widget
        self._show_facts()

    def _obstacle(self) -> str:
        """Why Start is not possible now; empty where it is."""
        if self._training:
            return "A run is training."
        if not self._totals.characters:
            return "There is no text to train on yet: add documents in the Corpus tab."
        return self.form.problem()

    def _show_facts(self) -> None:
        problem = self.form.problem()
        set_role(self.parameters, "error" if problem else "")
        if problem:
            self.parameters.setText(problem)
            self.corpus_facts.clear()
        else:
            self.parameters.setText(facts.parameters(self.form.value()))
            self.corpus_facts.setText(facts.corpus(self.form.value(), self._totals))

    def _show_progress(self) -> None:
        if self._progress is None:
            return
        self.pages.setCurrentIndex(1)
        self.progress_bar.show()
        text = self._progress.text(live=self._training)
        if self._stopping:
            text = f"Stopping at the next step… · {text}"
        elif self._paused:
            text = f"Paused · {text}"
        self.status.setText(text)
        self.progress_bar.setValue(round(1000 * self._progress.share()))
