"""Between the Corpus tab and the library: asks become imports in a job, and their events become rows."""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QObject, Signal, Slot

from app.errors import present
from app.jobs.job import Job, OpenStream
from app.jobs.lanes import Lanes
from app.tabs.corpus.columns import WITH_TEXT
from app.tabs.corpus.preview import LONGEST
from app.tabs.corpus.tab import CorpusTab
from core.config.corpus import ImportConfig
from core.control import StopToken
from core.corpus.library import DocumentRow, Library
from core.errors import UserFacingError
from core.events import Event, ImportFinished, Notice
from core.runs.folder import Workspace
from core.tasks.import_files import import_files
from core.tasks.make_sample import make_sample

LANE = "corpus"

ImportTask: TypeAlias = Callable[
    [Sequence[Path], ImportConfig, Workspace, StopToken], Generator[Event, None, ImportFinished]
]
SampleTask: TypeAlias = Callable[[Workspace, ImportConfig, StopToken], Generator[Event, None, ImportFinished]]


class CorpusController(QObject):
    """Reads files into the workspace's library as the tab asks.

    Signals:
        imported: An import came to its end (`ImportFinished`), whole or cancelled.
        sample_imported: The same, for the sample corpus alone.
        changed: The corpus may hold other text than before.
    """

    imported = Signal(object)
    sample_imported = Signal(object)
    changed = Signal()

    def __init__(
        self,
        tab: CorpusTab,
        workspace: Workspace,
        lanes: Lanes,
        parent: QObject | None = None,
        import_task: ImportTask = import_files,
        sample_task: SampleTask = make_sample,
    ) -> None:
        super().__init__(parent)
        self._tab = tab
        self._workspace = workspace
        self._lanes = lanes
        self._import_task = import_task
        self._sample_task = sample_task
        self._waiting = 0  # imports that stand behind the one that runs
        self._said: list[str] = []  # the sentences of this import, so that a later one hides no earlier one
        tab.add_requested.connect(self.add)
        tab.cancel_requested.connect(self.stop)
        tab.include_requested.connect(self._include)
        tab.document_chosen.connect(self._preview)
        lanes.busy_changed.connect(self._follow_lane)
        self.refresh()

    @property
    def active(self) -> bool:
        """True while files are being read."""
        return self._lanes.busy(LANE)

    @Slot()
    def stop(self) -> None:
        """Ask the import, and those that wait, to end. What was read stays."""
        self._lanes.stop(LANE)

    @Slot()
    def refresh(self) -> None:
        """Show what the library holds."""
        try:
            with Library(self._workspace.library) as library:
                self._tab.show_rows(library.rows())
        except UserFacingError as error:
            present(error, self._tab.banner)
        self.changed.emit()

    @Slot(list)
    def add(self, paths: list[Path]) -> None:
        """Read files and folders, now or after the import that runs."""
        task, config, workspace = self._import_task, self._tab.import_config(), self._workspace

        def open_stream(stop: StopToken) -> Generator[Event, None, ImportFinished]:
            return task(paths, config, workspace, stop)

        self._start(open_stream)

    @Slot()
    def add_sample(self) -> None:
        """Write the sample corpus and read it."""
        task, config, workspace = self._sample_task, self._tab.import_config(), self._workspace

        def open_stream(stop: StopToken) -> Generator[Event, None, ImportFinished]:
            return task(workspace, config, stop)

        self._start(open_stream).ended.connect(self.sample_imported)

    def _start(self, open_stream: OpenStream) -> Job:
        queued = self.active
        job = self._lanes.start(LANE, open_stream)
        job.arrived.connect(self._show_events)
        job.ended.connect(self._finish)
        job.failed.connect(self._fail)
        if queued:
            self._waiting += 1
            self._tab.show_waiting(self._waiting)
        else:
            self._said.clear()
            self._tab.banner.hide()
            self._tab.show_import_begun(0)
        return job

    @Slot(list)
    def _show_events(self, events: list[Event]) -> None:
        self._tab.show_events(events)
        for event in events:
            if isinstance(event, Notice):
                self._say(event.text)

    @Slot(object)
    def _finish(self, finished: ImportFinished) -> None:
        self.refresh()
        self._go_on()
        self._say(_summary(finished))
        self.imported.emit(finished)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self.refresh()
        self._go_on()
        present(error, self._tab.banner)

    def _say(self, sentence: str) -> None:
        if sentence and sentence not in self._said:
            self._said.append(sentence)
            self._tab.banner.show_notice(" ".join(self._said))

    def _go_on(self) -> None:
        if self._waiting:
            self._waiting -= 1
            self._tab.show_import_begun(self._waiting)

    @Slot(list, bool)
    def _include(self, document_ids: list[int], included: bool) -> None:
        try:
            with Library(self._workspace.library) as library:
                library.set_included(document_ids, included)
        except UserFacingError as error:
            present(error, self._tab.banner)
        else:
            self._tab.show_included(document_ids, included)
            self.changed.emit()

    @Slot(object)
    def _preview(self, row: DocumentRow | None) -> None:
        self._tab.show_document(row, self._text(row) if row and row.id and row.state in WITH_TEXT else "")

    def _text(self, row: DocumentRow) -> str:
        try:
            with Library(self._workspace.library) as library:
                return library.text(row.id, most_characters=LONGEST)
        except UserFacingError as error:
            present(error, self._tab.banner)
            return ""

    @Slot(str, bool)
    def _follow_lane(self, lane: str, busy: bool) -> None:
        if lane == LANE:
            self._tab.show_busy(busy)


def _summary(finished: ImportFinished) -> str:
    """What a user should look at after an import; nothing if every file went in."""
    counts: tuple[tuple[int, str], ...] = (
        (finished.failed, "could not be read"),
        (finished.unsupported, "not supported"),
        (finished.duplicates, "already there"),
        (finished.cancelled, "cancelled"),
    )
    parts = [f"{count:,} {what}" for count, what in counts if count]
    if not parts:
        return ""
    return f"{finished.done:,} read, {', '.join(parts)}. The Note column says why."
