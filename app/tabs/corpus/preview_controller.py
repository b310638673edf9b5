"""Brings the text of the document under the cursor into the preview, and lets go of what comes too late."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.errors import present
from app.jobs.job import Job
from app.jobs.job_queue import JobQueues
from app.settings import WindowSettings
from app.tabs.corpus.cleaning_menu import read_cleaning
from app.tabs.corpus.columns import has_text
from app.tabs.corpus.tab import CorpusTab
from core.config.corpus import CleaningConfig
from core.corpus.library import DocumentRow
from core.runs.folder import Workspace
from core.tasks.look_at_library import DocumentPreview, preview_document

QUEUE = "preview"
DEBOUNCE_MS = 60  # a cursor that is held down passes many documents


class PreviewController(QObject):
    """Reads and cleans the chosen document's text in a job.

    Signals:
        cleaning_changed: The `CleaningConfig` that is chosen now.
    """

    cleaning_changed = Signal(object)

    def __init__(
        self,
        tab: CorpusTab,
        workspace: Workspace,
        queues: JobQueues,
        settings: WindowSettings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._card = tab.ledger.preview
        self._tab, self._workspace, self._queues, self._settings = tab, workspace, queues, settings
        self._row: DocumentRow | None = None
        self._query = ""
        self._cleaning = read_cleaning(settings.cleaning)
        self._shown: tuple[object, ...] = ()  # what the preview was made of
        self._job: Job | None = None
        self._soon = QTimer(self, interval=DEBOUNCE_MS, singleShot=True)
        self._soon.timeout.connect(self._read)
        self._card.cleaning.show_config(self._cleaning)
        self._card.cleaning_changed.connect(self._clean)
        tab.document_chosen.connect(self._choose)

    @property
    def cleaning(self) -> CleaningConfig:
        return self._cleaning

    @Slot(str)
    def search(self, query: str) -> None:
        """Mark these words in the text."""
        self._query = query
        if not query:
            self._card.stepper.hide()
        self._soon.start()

    @Slot(object)
    def _choose(self, row: DocumentRow | None) -> None:
        self._row = row
        self._card.show_row(row)
        self._soon.start()

    @Slot(object)
    def _clean(self, cleaning: CleaningConfig) -> None:
        self._cleaning = cleaning
        self._settings.cleaning = cleaning.model_dump_json()
        self.cleaning_changed.emit(cleaning)
        self._soon.start()

    @Slot()
    def _read(self) -> None:
        row = self._row
        if row is None or not row.id or not has_text(row):
            self._shown, self._job = (), None
            return
        wanted = (row.id, row.path, row.characters, row.seconds, self._cleaning, self._query)
        if wanted == self._shown:
            return
        self._shown = wanted
        self._queues.stop(QUEUE)
        self._job = self._queues.start(
            QUEUE, partial(preview_document, self._workspace, row.id, self._cleaning, self._query)
        )
        self._job.ended.connect(self._show)
        self._job.failed.connect(self._fail)

    @Slot(object)
    def _show(self, preview: DocumentPreview | None) -> None:
        if self.sender() is self._job and preview is not None:
            self._card.show_preview(preview, bool(self._query))

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        if self.sender() is self._job:
            self._shown = ()
            present(error, self._tab.banner)
