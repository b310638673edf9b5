"""The ways between the tabs, which do not know each other."""

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QTabWidget

from app.tabs.chat.controller import ChatController
from app.tabs.corpus.controller import CorpusController
from app.tabs.inspect.controller import InspectController
from app.tabs.train.controller import TrainController
from app.window.first_run import FirstRun


class WaysBetweenTabs(QObject):
    """Connects what one tab asks with the tab that has the answer."""

    def __init__(
        self,
        tabs: QTabWidget,
        corpus: CorpusController,
        train: TrainController,
        chat: ChatController,
        inspect: InspectController,
        first_run: FirstRun,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._tabs, self._corpus, self._train, self._chat = tabs, corpus, train, chat
        self._inspect, self._first_run = inspect, first_run
        self._connect_first_run()
        self._connect_corpus_and_training()
        self._connect_models()

    def _connect_first_run(self) -> None:
        self._corpus.tab.sample_requested.connect(self._first_run.begin)
        self._first_run.training_begun.connect(self._go_to_training)
        self._first_run.model_ready.connect(self._go_to_chat)
        self._first_run.refused.connect(self._corpus.tab.banner.show_notice)

    def _connect_corpus_and_training(self) -> None:
        self._corpus.preview.cleaning_changed.connect(self._train.tab.show_cleaning)
        self._train.tab.show_cleaning(self._corpus.cleaning)
        self._train.tab.corpus_requested.connect(self._go_to_corpus)
        self._corpus.changed.connect(self._train.refresh_totals)
        self._train.interrupted.found.connect(self._go_to_training)

    def _connect_models(self) -> None:
        self._train.tab.chat_requested.connect(self._chat_with)
        self._train.tab.inspect_requested.connect(self._inspect_run)
        self._chat.inspect_requested.connect(self._inspect_phrase)
        self._chat.document_requested.connect(self._show_passage)
        for tab in (self._chat.tab, self._inspect.tab):
            tab.train_requested.connect(self._go_to_training)
        for controller in (self._chat, self._inspect):
            self._train.checkpoint_saved.connect(controller.refresh)
            self._train.run_ended.connect(controller.refresh)

    @Slot()
    def _go_to_corpus(self) -> None:
        self._tabs.setCurrentWidget(self._corpus.tab)

    @Slot()
    def _go_to_training(self) -> None:
        self._tabs.setCurrentWidget(self._train.tab)

    @Slot()
    def _go_to_chat(self) -> None:
        self._tabs.setCurrentWidget(self._chat.tab)

    @Slot(str)
    def _chat_with(self, name: str) -> None:
        """Open the model of a run, and show it."""
        self._chat.open(name, "")
        self._go_to_chat()

    @Slot(str)
    def _inspect_run(self, name: str) -> None:
        """Look inside the model of a run."""
        self._inspect.open(name)
        self._tabs.setCurrentWidget(self._inspect.tab)

    @Slot(int, int, str)
    def _show_passage(self, document_id: int, start: int, passage: str) -> None:
        """Open a document where a passage of a reply stands in it."""
        self._go_to_corpus()
        self._corpus.show_passage(document_id, start, passage)

    @Slot(str, bool, int)
    def _inspect_phrase(self, text: str, marked: bool, character: int) -> None:
        """Look at what the open model computes for a conversation."""
        self._inspect.show_phrase(text, marked=marked, character=character)
        self._tabs.setCurrentWidget(self._inspect.tab)
