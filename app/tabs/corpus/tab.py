"""The Corpus tab: which files the model will learn from, and what became of each."""

from collections.abc import Collection, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QVBoxLayout, QWidget

from app.tabs.corpus.dialogs import FieldsDialog, PasswordDialog
from app.tabs.corpus.document_table import DocumentTable
from app.tabs.corpus.drop_area import DropArea
from app.tabs.corpus.first_start import FirstStart
from app.tabs.corpus.kind_chart import KindChart
from app.tabs.corpus.ledger import Ledger
from app.tabs.corpus.progress import ImportProgress
from app.tabs.corpus.progress_strip import ProgressStrip
from app.tabs.corpus.tool_row import ToolRow
from app.widgets.banner import Banner
from app.widgets.theme import HUGE, LARGE, SMALL
from core.config.corpus import ImportConfig
from core.corpus.library import DocumentRow
from core.tasks.reading_choices import TextField

LOW_PX = 640  # below this height the table needs the room that the chart takes


class CorpusTab(DropArea):
    """Shows the ledger and asks for work on it.

    Signals:
        add_requested: Paths of files and folders to be read, dropped or chosen.
        read_again_requested: Paths of files to be read again, and the `ImportConfig` to read them with.
        fields_requested: Paths of files whose fields should be listed.
        sample_requested: The user wants to begin with the sample corpus.
        pause_requested: True to hold the import back, False to let it go on.
        cancel_requested: The import should end.
        include_requested: Document numbers, and whether they should be part of the corpus.
        remove_requested: Numbers of documents to be taken out of the library.
        near_duplicates_requested: All near duplicates should be left out.
        watch_requested: A folder to be watched, or None to watch none any more.
        document_chosen: The ledger's row under the cursor, or None.
    """

    add_requested = Signal(list)
    read_again_requested = Signal(list, object)
    fields_requested = Signal(list)
    sample_requested = Signal()
    pause_requested = Signal(bool)
    cancel_requested = Signal()
    include_requested = Signal(list, bool)
    remove_requested = Signal(list)
    near_duplicates_requested = Signal()
    watch_requested = Signal(object)
    document_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("corpusTab")
        self.setAccessibleName("Corpus")
        self.banner = Banner()
        self.unfinished_offer = Banner("unfinishedOffer")
        self.watch_offer = Banner("watchOffer")
        self.tools = ToolRow()
        self.chart = KindChart()
        self.strip = ProgressStrip()
        self.table = DocumentTable(self)
        self.first_start = FirstStart()
        self.ledger = Ledger(self.table)
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
        return self.ledger.filters.reading.config()

    def show_listed(self, rows: Sequence[DocumentRow]) -> None:
        """Show some rows as the ledger has them."""
        self.table.show_ledger(rows)
        self._choose_page()

    def show_only(self, paths: Collection[str]) -> None:
        """Drop the rows of files that the ledger does not have."""
        self.table.keep_only(paths)
        self._choose_page()

    def show_removed(self, document_ids: Collection[int]) -> None:
        """Show documents no more; the cursor goes to what stood below them."""
        places = self.ledger.documents.selected_places()
        self.table.remove(document_ids)
        if places:
            self.ledger.documents.go_to(places[0])
        self._choose_page()

    @Slot(list)
    def show_events(self, events: Sequence[object]) -> None:
        """Let rows and progress follow an import."""
        before = self.table.rowCount()
        self.table.show_events(events)
        if not self._progress.files:
            self.ledger.documents.show_newest(before)
        self._progress.show_events(events)
        self.strip.show_progress(self._progress)
        self._choose_page()

    def show_import_begun(self, waiting: int) -> None:
        """Count anew; `waiting` imports stand behind this one."""
        self._progress = ImportProgress()
        self.strip.show_busy(True)
        self.strip.show_paused(False)
        self.show_waiting(waiting)

    def show_import_ended(self) -> None:
        """No file is being read any more, until the next import begins."""
        self.table.end_import()
        self._choose_page()

    def show_waiting(self, waiting: int) -> None:
        """Say how many imports stand behind the one that runs."""
        self.strip.show_waiting(waiting)
        self.strip.show_progress(self._progress)

    def show_paused(self, paused: bool) -> None:
        """Whether the import is held back."""
        if paused:
            self._progress.pause()
        else:
            self._progress.resume()
        self.strip.show_paused(paused)
        self.strip.show_progress(self._progress)

    def show_busy(self, busy: bool) -> None:
        """Whether files are being read now."""
        self._busy = busy
        self.strip.show_busy(busy)
        self._choose_page()

    def ask_for_fields(self, paths: Sequence[str], fields: Sequence[TextField]) -> None:
        """Let the user choose which fields of some files are text."""
        dialog = FieldsDialog(paths, fields, self)
        dialog.given.connect(self._read_with_fields)
        dialog.open()

    @Slot()
    def choose_files(self) -> None:
        """Ask which files to add."""
        self._open_dialog("Add files", QFileDialog.FileMode.ExistingFiles).filesSelected.connect(
            self._add_chosen
        )

    @Slot()
    def choose_folder(self) -> None:
        """Ask which folder to add."""
        self._open_dialog("Add a folder", QFileDialog.FileMode.Directory).filesSelected.connect(
            self._add_chosen
        )

    @Slot()
    def choose_watched_folder(self) -> None:
        """Ask which folder to watch."""
        self._open_dialog("Watch a folder", QFileDialog.FileMode.Directory).fileSelected.connect(self._watch)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose_page()

    def _open_dialog(self, title: str, mode: QFileDialog.FileMode) -> QFileDialog:
        dialog = QFileDialog(self, title)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog

    @Slot(list)
    def _add_chosen(self, names: list[str]) -> None:
        self.add_requested.emit([Path(name) for name in names])

    @Slot(str)
    def _watch(self, name: str) -> None:
        self.watch_requested.emit(Path(name))

    @Slot()
    def _watch_no_more(self) -> None:
        self.watch_requested.emit(None)

    @Slot(list)
    def _retry(self, paths: list[str]) -> None:
        self._read_again(paths, self.import_config())

    @Slot(list)
    def _read_with_ocr(self, paths: list[str]) -> None:
        self._read_again(paths, self.import_config().model_copy(update={"ocr": "force"}))

    @Slot(list)
    def _ask_for_password(self, paths: list[str]) -> None:
        dialog = PasswordDialog(paths, self)
        dialog.given.connect(self._read_with_password)
        dialog.open()

    @Slot(list, str)
    def _read_with_password(self, paths: list[str], password: str) -> None:
        self._read_again(paths, self.import_config().model_copy(update={"password": password}))

    @Slot(list, list)
    def _read_with_fields(self, paths: list[str], fields: list[str]) -> None:
        self._read_again(paths, self.import_config().model_copy(update={"text_fields": tuple(fields)}))

    def _read_again(self, paths: list[str], config: ImportConfig) -> None:
        self.read_again_requested.emit([Path(path) for path in paths], config)

    @Slot()
    def _show_summary(self) -> None:
        self.tools.show_summary(self.table.summary)
        self.chart.show_summary(self.table.summary)

    def _choose_page(self) -> None:
        has_rows = bool(self.table.summary.files or self._busy)
        self._pages.setCurrentWidget(self.ledger if has_rows else self.first_start)
        self.chart.setVisible(has_rows and self.height() >= LOW_PX)

    def _lay_out(self) -> None:
        self._pages.addWidget(self.first_start)
        self._pages.addWidget(self.ledger)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(HUGE, LARGE, HUGE, LARGE)
        layout.setSpacing(SMALL)
        for widget in (
            self.banner,
            self.unfinished_offer,
            self.watch_offer,
            self.tools,
            self.chart,
            self.strip,
        ):
            layout.addWidget(widget)
        layout.addWidget(self._pages, stretch=1)
        self.strip.hide()

    def _connect(self) -> None:
        actions = self.ledger.actions
        self.dropped.connect(self.add_requested)
        self.tools.files_requested.connect(self.choose_files)
        self.tools.folder_requested.connect(self.choose_folder)
        self.tools.unwatch_requested.connect(self._watch_no_more)
        self.tools.sample_button.clicked.connect(self.sample_requested)
        self.first_start.files_requested.connect(self.choose_files)
        self.first_start.sample_requested.connect(self.sample_requested)
        self.strip.pause_requested.connect(self.pause_requested)
        self.strip.cancel_requested.connect(self.cancel_requested)
        self.table.summary_changed.connect(self._show_summary)
        self.table.include_requested.connect(self.include_requested)
        self.chart.chosen.connect(self.ledger.filter_kind)
        self.ledger.document_chosen.connect(self.document_chosen)
        self.ledger.action_row.near_duplicates_requested.connect(self.near_duplicates_requested)
        actions.include_requested.connect(self.include_requested)
        actions.remove_requested.connect(self.remove_requested)
        actions.retry_requested.connect(self._retry)
        actions.ocr_requested.connect(self._read_with_ocr)
        actions.password_requested.connect(self._ask_for_password)
        actions.fields_requested.connect(self.fields_requested)
