"""Searches all texts while the user types, and lets go of what comes too late."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.errors import present
from app.jobs.job import Job
from app.jobs.job_queue import JobQueues
from app.tabs.corpus.tab import CorpusTab
from core.corpus.library import SearchHit
from core.runs.folder import Workspace
from core.tasks.look_at_library import search_library

QUEUE = "search"
DEBOUNCE_MS = 200  # between two letters of one who types


class SearchController(QObject):
    """Turns the words in the search box into a job, and its hits into rows.

    Signals:
        searched: The words that the rows on the screen were found by; "" where nothing is searched.
    """

    searched = Signal(str)

    def __init__(
        self, tab: CorpusTab, workspace: Workspace, queues: JobQueues, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._tab, self._workspace, self._queues = tab, workspace, queues
        self._query = ""
        self._job: Job | None = None
        self._soon = QTimer(self, interval=DEBOUNCE_MS, singleShot=True)
        self._soon.timeout.connect(self.again)
        tab.ledger.filters.search_changed.connect(self._type)

    @Slot()
    def again(self) -> None:
        """Search for the words that stand there: the texts may be others now."""
        if not self._query:
            return
        self._queues.stop(QUEUE)
        self._job = self._queues.start(QUEUE, partial(search_library, self._workspace, self._query))
        self._job.ended.connect(self._show)
        self._job.failed.connect(self._fail)

    @Slot(str)
    def _type(self, text: str) -> None:
        self._query = text.strip()
        if self._query:
            self._soon.start()
            return
        self._soon.stop()
        self._job = None
        self._tab.ledger.show_hits(None)
        self.searched.emit("")

    @Slot(object)
    def _show(self, hits: list[SearchHit]) -> None:
        if self.sender() is self._job:
            self._tab.ledger.show_hits(hits)
            self.searched.emit(self._query)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        if self.sender() is self._job:
            present(error, self._tab.banner)
