"""Start, Pause and Stop, and above them why Start cannot be pressed, with one click that mends it."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from app.tabs.train.form.plan_card import COUNTING_HELP
from app.tabs.train.form.run_buttons import RunButtons, RunState
from app.tabs.train.form.run_form import RunForm
from app.tabs.train.form.start_from import StartFrom
from app.tabs.train.form.start_mode import StartMode
from app.widgets.label import Label, without_mnemonic
from app.widgets.layout import column, row
from app.widgets.theme import MEDIUM, SMALL, set_role
from core.config.corpus import CorpusConfig
from core.corpus.passages import CorpusTotals

NO_TEXT = "There is no text to train on yet: add documents in the Corpus tab."
NO_TEXT_SELECTED = "None of the included documents with text passes the filter."
TO_CORPUS, ALL_DOCUMENTS = "Go to Corpus", "Use all documents"
PRESET_VALUE, LONGER = "Use the preset's value", "Train it twice as long"
NO_TOTALS = CorpusTotals(documents=0, characters=0, bytes=0)
NO_FILTER = CorpusConfig()


@dataclass(frozen=True, slots=True)
class CountedText:
    """The text that a run would be trained on, as far as it is known."""

    documents: CorpusConfig = NO_FILTER  # the filter
    totals: CorpusTotals = NO_TOTALS  # of what passes it
    is_counting: bool = False
    problem: str = ""  # why it cannot be counted

    def obstacle(self) -> str:
        """Why no run can be trained on it now; empty where one can."""
        if self.is_counting:
            return COUNTING_HELP
        if not self.totals.characters:
            return self.problem or (NO_TEXT_SELECTED if self.documents.is_filtered else NO_TEXT)
        return ""


class StartRow(QWidget):
    """Says what stands in the way of Start, and does what mends it.

    Signals:
        corpus_requested: The way to where documents are added.
    """

    corpus_requested = Signal()

    def __init__(self, form: RunForm, start_from: StartFrom, mode: StartMode) -> None:
        super().__init__()
        self._form, self._start_from, self._mode = form, start_from, mode
        self._state, self._text = RunState.IDLE, CountedText()
        self.buttons = RunButtons()
        self.obstacle = StartObstacle()
        self.obstacle.mend_requested.connect(self._mend)
        column(self.obstacle, self.buttons, of=self)

    def show_state(
        self, state: RunState, text: CountedText, run: str = "", *, looks_elsewhere: bool = False
    ) -> None:
        """Let the user do what can be done now; `run` and `looks_elsewhere` as for the buttons."""
        self._state, self._text = state, text
        reason, (mend, _) = self._reason(), self._way_out()
        self.buttons.show_state(
            state, reason, resumes=self._mode.resumes, run=run, looks_elsewhere=looks_elsewhere
        )
        waits = text.is_counting or self._mode.waits or state.is_stopping
        self.obstacle.show_obstacle("" if waits else reason, mend)

    def _reason(self) -> str:
        """Why Start is not possible now; empty where it is."""
        if self._state.is_stopping:
            return "A run is ending."
        if self._mode.waits:
            return "The settings of the selected run are being read."
        if self._mode.resumes:
            only_new = "A run is training; only a new run can wait in the queue."
            problem = self._form.value_problem() or self._mode.obstacle()
            return only_new if self._state.is_active else problem
        return self._text.obstacle() or self._form.problem()

    def _way_out(self) -> tuple[str, Callable[[], None] | None]:
        """What mends what stands in the way of Start, in words and to be done; nothing where one click does not."""
        if self._form.value_problem():
            return PRESET_VALUE, self._form.mend
        if self._mode.resumes:
            is_over = bool(self._mode.obstacle()) and not self._state.is_active
            return (LONGER, self._start_from.longer_requested.emit) if is_over else ("", None)
        if not self._text.totals.characters:
            if self._text.documents.is_filtered:
                return ALL_DOCUMENTS, self._take_all_documents
            return TO_CORPUS, self.corpus_requested.emit
        name = self._form.suggested_name
        if self._form.problem() and name:
            return f"Call it “{name}”", self._take_suggested_name
        return "", None

    @Slot()
    def _mend(self) -> None:
        _, act = self._way_out()
        if act is not None:
            act()
        if not self.obstacle.isVisibleTo(self):
            self.buttons.start_button.setFocus()

    def _take_all_documents(self) -> None:
        self._form.documents.take(CorpusConfig())

    def _take_suggested_name(self) -> None:
        self._form.put_name(self._form.suggested_name)


class StartObstacle(QFrame):
    """Hidden where nothing stands in the way.

    Signals:
        mend_requested: What the button says should be done.
    """

    mend_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("startObstacle")
        set_role(self, "notice")
        self.label = Label(objectName="obstacleLabel", wordWrap=True)
        self.button = QPushButton(objectName="mendButton", toolTip="Do this, so that the run can start")
        self.button.setAccessibleName("Fix this")
        self.button.clicked.connect(self.mend_requested)
        row((self.label, 1), self.button, of=self, margins=(MEDIUM, SMALL, MEDIUM, SMALL))
        self.hide()

    def show_obstacle(self, sentence: str, mend: str) -> None:
        """Say what stands in the way, and what mends it; "" where nothing does."""
        self.label.setText(sentence)
        self.button.setText(without_mnemonic(mend))
        self.button.setAccessibleName(mend or "Fix this")
        self.button.setVisible(bool(mend))
        self.setVisible(bool(sentence))
