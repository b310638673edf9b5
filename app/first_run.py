"""The way through "Try the sample": make the corpus, train on it, and end in the Chat tab with a question."""

from PySide6.QtCore import QObject, Signal, Slot

from app.tabs.chat.controller import ChatController
from app.tabs.corpus.controller import CorpusController
from app.tabs.train.controller import TrainController
from core.config.presets import DEFAULT_PRESET, preset_run
from core.events import ImportFinished
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.sample.meadow import held_out_questions

RUN_STEM = "first"


class FirstRun(QObject):
    """Leads from one tab to the next as each one's work comes to a good end; anything else ends the tour.

    Signals:
        training_begun: The Train tab is the one to look at now.
        model_ready: The Chat tab is the one to look at now.
    """

    training_begun = Signal()
    model_ready = Signal()

    def __init__(
        self,
        workspace: Workspace,
        corpus: CorpusController,
        train: TrainController,
        chat: ChatController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._corpus = corpus
        self._train = train
        self._chat = chat
        self._run = ""  # the run that the tour waits for
        corpus.sample_imported.connect(self._begin_training)
        train.run_ended.connect(self._open_chat)

    @Slot()
    def begin(self) -> None:
        """Write and read the sample corpus; the rest follows."""
        self._corpus.add_sample()

    @Slot(object)
    def _begin_training(self, finished: ImportFinished) -> None:
        if finished.cancelled or self._train.active:
            return
        self._run = Catalog(self._workspace).unused_name(RUN_STEM)
        changes = {"cleaning": self._corpus.cleaning}
        self._train.start(self._run, preset_run(DEFAULT_PRESET).model_copy(update=changes))
        self.training_begun.emit()

    @Slot(str, str)
    def _open_chat(self, name: str, reason: str) -> None:
        if name != self._run:
            return
        self._run = ""
        if reason == "finished":
            self._chat.open(name, held_out_questions()[0].question)
            self.model_ready.emit()
