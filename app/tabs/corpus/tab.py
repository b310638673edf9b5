"""The Corpus tab: which files the model will learn from, and what became of each."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QVBoxLayout, QWidget

from app.tabs.corpus.document_table import DocumentTable
from app.tabs.corpus.drop_area import DropArea
from app.tabs.corpus.first_start import FirstStart
from app.tabs.corpus.ledger import Ledger
from app.tabs.corpus.progress import ImportProgress
from app.tabs.corpus.progress_strip import ProgressStrip
from app.tabs.corpus.tool_row import ToolRow
from app.widgets.banner import Banner
from app.widgets.theme import HUGE, LARGE, MEDIUM
from core.config.corpus import ImportConfig
from core.corpus.library import DocumentRow


class CorpusTab(DropArea):
    """Shows the ledger and asks for work on it.

    Signals:
        add_requested: Paths of files and folders to be read, dropped or chosen.
        sample_requested: The user wants to begin with the sample corpus.
        cancel_requested: The import should end.
        include_requested: Document numbers, and whether they should be part of the corpus.
        document_chosen: The ledger's row under the cursor, or None.
    """

    add_requested = Signal(list)
    sample_requested = Signal()
    cancel_requested = Signal()
    include_requested = Signal(list, bool)
    document_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("corpusTab")
        self.setAccessibleName("Corpus")
        self.banner = Banner()
        self.tools = ToolRow()
        self.strip = ProgressStrip()
        self.table = DocumentTable(self)
        self.first_start = FirstStart()
        self.ledger = Ledger(self.table)
        self.ledger.documents.setObjectName("documentTable")
        self._progress = ImportProgress()
        self._busy = False
        self._pages = QStackedWidget()
        self._lay_out()
        self._connect()

    @property
    def busy(self) -> bool:
        """True while files are being read."""
        return self._busy

    def import_config(self) -> ImportConfig:
        """How the next files are to be read."""
        return self.ledger.reading.config()

    def show_rows(self, rows: Sequence[DocumentRow]) -> None:
        """Show exactly these rows of the ledger."""
        self.table.replace_all(rows)
        self._choose_page()

    @Slot(list)
    def show_events(self, events: Sequence[object]) -> None:
        """Let rows and progress follow an import."""
        self.table.show_events(events)
        self._progress.show_events(events)
        self.strip.show_progress(self._progress)
        self._choose_page()

    def show_included(self, document_ids: Sequence[int], included: bool) -> None:
        """Tick documents, or take their ticks away."""
        self.table.set_included(document_ids, included)

    def show_document(self, row: DocumentRow | None, text: str) -> None:
        """Show a document's text beside the table, or nothing."""
        if row is None:
            self.ledger.preview.show_nothing()
        else:
            self.ledger.preview.show_document(row, text)

    def show_import_begun(self, waiting: int) -> None:
        """Count anew; `waiting` imports stand behind this one."""
        self._progress = ImportProgress()
        self.show_waiting(waiting)

    def show_waiting(self, waiting: int) -> None:
        """Say how many imports stand behind the one that runs."""
        self.strip.show_waiting(waiting)
        self.strip.show_progress(self._progress)

    def show_busy(self, busy: bool) -> None:
        """Whether files are being read now."""
        self._busy = busy
        self.strip.setVisible(busy)
        self.strip.cancel_button.setEnabled(busy)
        self._choose_page()

    @Slot()
    def choose_files(self) -> None:
        """Ask which files to add."""
        self._open_dialog("Add files", QFileDialog.FileMode.ExistingFiles)

    @Slot()
    def choose_folder(self) -> None:
        """Ask which folder to add."""
        self._open_dialog("Add a folder", QFileDialog.FileMode.Directory)

    def _open_dialog(self, title: str, mode: QFileDialog.FileMode) -> None:
        dialog = QFileDialog(self, title)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._add_chosen)
        dialog.open()

    @Slot(list)
    def _add_chosen(self, names: list[str]) -> None:
        self.add_requested.emit([Path(name) for name in names])

    @Slot()
    def _cancel(self) -> None:
        self.strip.show_cancelling()
        self.cancel_requested.emit()

    def _choose_page(self) -> None:
        self._pages.setCurrentWidget(self.ledger if self.table.rowCount() or self._busy else self.first_start)

    def _lay_out(self) -> None:
        self._pages.addWidget(self.first_start)
        self._pages.addWidget(self.ledger)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(HUGE, LARGE, HUGE, LARGE)
        layout.setSpacing(MEDIUM)
        layout.addWidget(self.banner)
        layout.addWidget(self.tools)
        layout.addWidget(self.strip)
        layout.addWidget(self._pages, stretch=1)
        self.strip.hide()

    def _connect(self) -> None:
        self.dropped.connect(self.add_requested)
        self.tools.files_wished.connect(self.choose_files)
        self.tools.folder_wished.connect(self.choose_folder)
        self.tools.sample_button.clicked.connect(self.sample_requested)
        self.first_start.files_wished.connect(self.choose_files)
        self.first_start.sample_wished.connect(self.sample_requested)
        self.strip.cancel_button.clicked.connect(self._cancel)
        self.table.totals_changed.connect(self.tools.show_totals)
        self.table.include_wished.connect(self.include_requested)
        self.ledger.include_wished.connect(self.include_requested)
        self.ledger.document_chosen.connect(self.document_chosen)
