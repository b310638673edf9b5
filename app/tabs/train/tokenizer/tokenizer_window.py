"""The tokenizer card: what a tokenizer learned from this corpus, and how it takes a sentence apart."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QStackedWidget, QWidget

from app.tabs.train.run.progress import Progress
from app.tabs.train.tokenizer.sentence_panel import SentencePanel
from app.tabs.train.tokenizer.vocabulary_panel import VocabularyPanel
from app.widgets.controls.small import named_button
from app.widgets.dialog import Dialog
from app.widgets.label import Label
from app.widgets.layout import STRETCH, boxed, column, row
from app.widgets.theme import HUGE, LARGE, MEDIUM, SMALL, set_role
from app.widgets.token_text import KINDS, UNKNOWN
from core.events.base import Event, Notice
from core.events.runs import DatasetBuilt
from core.tasks.models.examine_tokenizer import TokenizerCard, TokenizerFacts
from core.wording import noun_for, number, percent

FIRST_SIZE_PX = (820, 680)
FACTS = {
    "kind": "How text is split into tokens",
    "vocabulary": "Special tokens included",
    "compression": "Bytes of UTF-8 in the corpus, over the tokens they became: the more, the more text fits into a context",
    "unknown": "The part of the corpus that the vocabulary cannot write, and a model cannot learn",
    "training": "The corpus in tokens, less what is kept for validation",
}


class TokenizerWindow(Dialog):
    """Beside the window, not before it: first how far the work has come, then the card.

    Signals:
        cancel_requested: Nobody waits for the card any more.
    """

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tokenizerWindow")
        self.setWindowTitle("Tokenizer")
        self.resize(*FIRST_SIZE_PX)
        self._working = False
        self._progress = Progress()
        self.pages = QStackedWidget()
        self.pages.addWidget(self._make_waiting())
        self.pages.addWidget(self._make_card())
        column(self.pages, of=self, margins=(HUGE, LARGE, HUGE, LARGE))
        self.sentence.chosen.connect(self._copy)
        self.sentence.chosen.connect(self.vocabulary.go_to)
        self.cancel_button.clicked.connect(self.reject)

    # What the controller shows

    @Slot()
    def show_started(self) -> None:
        """The work begins: show how far it comes."""
        self._working, self._progress = True, Progress()
        self.phase.setText(self._progress.text())
        self.bar.setRange(0, 0)
        self.pages.setCurrentIndex(0)
        self.show()
        self.activateWindow()

    @Slot(list)
    def show_events(self, events: Sequence[Event]) -> None:
        for event in events:
            self._progress.take(event)
            self.phase.setText(self._phase_after(event))
        share = self._progress.prepared_share()
        self.bar.setRange(0, 1000 if share else 0)  # 0 to 0 moves without end: busy, nobody knows how long
        self.bar.setValue(round(1000 * share))

    @Slot(object)
    def show_ended(self, card: TokenizerCard | None) -> None:
        """The card, or nothing where the work failed: then the window goes."""
        self._working = False
        if card is None:
            self.hide()
            return
        self._show_facts(card.facts)
        self.sentence.show_card(card)
        self.vocabulary.show_card(card)
        self.pages.setCurrentIndex(1)
        self.sentence.edit.setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._cancel()
        super().closeEvent(event)

    def reject(self) -> None:
        """Escape closes the window, and so ends the work."""
        self._cancel()
        super().reject()

    def _phase_after(self, event: Event) -> str:
        match event:
            case Notice(is_detail=False):
                return event.text
            case DatasetBuilt():
                return "Counting tokens…"
            case _:
                return self._progress.text()

    # Building

    def _make_waiting(self) -> QWidget:
        self.phase = Label(objectName="tokenizerPhase", alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self.phase.setAccessibleName("What is being done")
        self.bar = QProgressBar(textVisible=False, objectName="tokenizerProgress")
        self.bar.setAccessibleName("Part of the work done")
        self.cancel_button = named_button(
            "&Cancel", "tokenizerCancelButton", "close", "Stop, and close this window"
        )
        cancel = self.cancel_button, Qt.AlignmentFlag.AlignCenter
        return boxed(column(STRETCH, self.phase, self.bar, cancel, STRETCH, margins=MEDIUM, spacing=MEDIUM))

    def _make_card(self) -> QWidget:
        self.sentence, self.vocabulary = SentencePanel(), VocabularyPanel()
        return boxed(column(self._make_facts(), self.sentence, (self.vocabulary, 1), spacing=LARGE))

    def _make_facts(self) -> QHBoxLayout:
        tiles = row()
        self.facts: dict[str, Label] = {}
        self._captions: dict[str, Label] = {}
        for key, tip in FACTS.items():
            tile = QFrame(toolTip=tip)
            set_role(tile, "card")
            self.facts[key] = Label(objectName=f"{key}Fact", role="subtitle")
            self._captions[key] = Label(objectName=f"{key}Caption", role="muted")
            margins = (MEDIUM, SMALL, MEDIUM, SMALL)
            column(self.facts[key], self._captions[key], of=tile, margins=margins, spacing=0)
            tiles.addWidget(tile, stretch=1)
        return tiles

    # What is shown of a card

    def _show_facts(self, facts: TokenizerFacts) -> None:
        unknown = UNKNOWN.get(facts.kind, "characters")
        for key, value, caption in (
            ("kind", KINDS[facts.kind], "kind of tokenizer"),
            (
                "vocabulary",
                number(facts.vocab_size),
                f"{noun_for(facts.vocab_size, 'token')} in the vocabulary",
            ),
            ("compression", f"{facts.bytes_per_token:.2f}", "bytes per token"),
            ("unknown", percent(facts.unknown_share, 2), f"unknown {unknown}"),
            ("training", number(facts.train_tokens), f"{noun_for(facts.train_tokens, 'token')} to train on"),
        ):
            self.facts[key].setText(value)
            self._captions[key].setText(caption)
            self.facts[key].setAccessibleName(f"{value} {caption}")

    @Slot(int)
    def _copy(self, token_id: int) -> None:
        QGuiApplication.clipboard().setText(str(token_id))

    def _cancel(self) -> None:
        if self._working:
            self._working = False
            self.cancel_requested.emit()
