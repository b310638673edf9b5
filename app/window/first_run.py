"""The way through "Try the sample": make the corpus, train on it alone, and end in the Chat tab with a question."""

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.errors import sentences
from app.jobs.job_queue import JobQueues
from app.tabs.chat.controller import ChatController
from app.tabs.corpus.controller import CorpusController
from app.tabs.train.controller import TrainController
from core.config.corpus import CorpusConfig
from core.config.presets import DEFAULT_PRESET, preset_run
from core.config.run import RunConfig
from core.events.documents import ImportFinished
from core.runs.folder import Workspace
from core.sample.meadow import held_out_questions
from core.tasks.models.look_at_runs import find_unused_name

RUN_STEM = "first"
STEPS = ("Read the documents", "Train", "Chat")
READING, TRAINING, CHATTING = range(len(STEPS))
BUSY = 'The sample was read. Another run is training: press "Try the sample" again once that has ended.'


class FirstRun(QObject):
    """Leads from one tab to the next as each one's work comes to a good end; anything else ends the tour.

    Signals:
        step_reached: The position in `STEPS` of what is being done now.
        left: The tour has ended before its last step.
        refused: Why there is no training, as a sentence.
        training_begun: The Train tab is the one to look at now.
        model_ready: The Chat tab is the one to look at now.
    """

    step_reached = Signal(int)
    left = Signal()
    refused = Signal(str)
    training_begun = Signal()
    model_ready = Signal()

    def __init__(
        self,
        workspace: Workspace,
        corpus: CorpusController,
        train: TrainController,
        chat: ChatController,
        queues: JobQueues,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace, self._queues = workspace, queues
        self._corpus = corpus
        self._train = train
        self._chat = chat
        self._run = ""  # the run that the tour waits for
        corpus.sample_imported.connect(self._find_name)
        corpus.sample_failed.connect(self.left)
        train.run_ended.connect(self._open_chat)

    @Slot()
    def begin(self) -> None:
        """Write and read the sample corpus; the rest follows."""
        self.step_reached.emit(READING)
        self._corpus.add_sample()

    @Slot(object)
    def _find_name(self, finished: ImportFinished) -> None:
        if finished.cancelled:
            self.left.emit()
            return
        job = self._queues.start("runs", partial(find_unused_name, self._workspace, RUN_STEM))
        job.ended.connect(self._begin_training)
        job.failed.connect(self._fail)

    @Slot(object)
    def _begin_training(self, name: str | None) -> None:
        if name is None:  # the window closes
            return
        if self._train.active:
            self._refuse(BUSY)
            return
        self._run = name
        self._train.start(name, self._config())
        self.step_reached.emit(TRAINING)
        self.training_begun.emit()

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._refuse(" ".join(sentences(error)))

    def _refuse(self, reason: str) -> None:
        self.left.emit()
        self.refused.emit(reason)

    def _config(self) -> RunConfig:
        """The preset for newcomers on the sample alone, whatever else the library holds."""
        changes = {
            "corpus": CorpusConfig(folder=str(self._workspace.sample)),
            "cleaning": self._corpus.cleaning,
        }
        return preset_run(DEFAULT_PRESET).model_copy(update=changes)

    @Slot(str, str)
    def _open_chat(self, name: str, reason: str) -> None:
        if name != self._run:
            return
        self._run = ""
        if reason not in ("finished", "early_stopped"):
            self.left.emit()
            return
        self._chat.open(name, held_out_questions()[0].question)
        self.model_ready.emit()
        self.step_reached.emit(CHATTING)
