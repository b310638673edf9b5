"""The working page of the Corpus tab: the table of documents with its filters, the preview beside it."""

from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from app.tabs.corpus.action_row import ActionRow
from app.tabs.corpus.document_table import DocumentTable
from app.tabs.corpus.document_view import DocumentView
from app.tabs.corpus.filter_row import FilterRow
from app.tabs.corpus.preview import PreviewCard
from app.tabs.corpus.row_actions import RowActions
from app.tabs.corpus.state_chips import StateChips
from app.widgets.theme import LARGE, SMALL
from core.corpus.library import SearchHit


class Ledger(QSplitter):
    """Shows a `DocumentTable`, and the document under the cursor.

    Signals:
        document_chosen: The row under the cursor, or None.
    """

    document_chosen = Signal(object)

    def __init__(self, table: DocumentTable, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(LARGE)
        self._table = table
        self.actions = RowActions(self)
        self.chips = StateChips()
        self.filters = FilterRow()
        self.documents = DocumentView(table, self.actions)
        self.documents.setObjectName("documentTable")
        self.action_row = ActionRow(self.actions)
        self.preview = PreviewCard()
        self.documents.addAction(self.actions.remove)  # its key works while the table has the focus
        self.actions.remove.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.addWidget(self._left_side())
        self.addWidget(self.preview)
        self.setStretchFactor(0, 3)
        self.setStretchFactor(1, 1)
        self.setSizes([870, 360])
        self._connect()

    def show_hits(self, hits: list[SearchHit] | None) -> None:
        """Show only what a search found, best first, or everything again for None."""
        ranks = None if hits is None else {hit.document_id: rank for rank, hit in enumerate(hits)}
        snippets = {} if hits is None else {hit.document_id: hit.snippet for hit in hits}
        self._table.filter(replace(self._table.row_filter, hits=ranks))
        self._table.show_snippets(snippets)
        if hits and not self.documents.currentIndex().isValid():
            self.documents.go_to(0)

    @Slot(str)
    def filter_kind(self, kind: str) -> None:
        """Show the files of one kind alone, or all for ""."""
        self._table.filter(replace(self._table.row_filter, kind=kind))

    @Slot()
    def show_summary(self) -> None:
        """Count anew."""
        self.chips.show_summary(self._table.summary)
        self.action_row.show_summary(self._table.summary)

    @Slot()
    def _follow_choice(self) -> None:
        rows = self.documents.selected_rows()
        self.actions.follow(rows)
        self.action_row.show_counts(len(rows), self._table.rowCount(), self._table.summary.files)

    @Slot(str)
    def _filter_name(self, name: str) -> None:
        self._table.filter(replace(self._table.row_filter, name=name.strip()))

    @Slot(str)
    def _filter_state(self, state: str) -> None:
        self._table.filter(replace(self._table.row_filter, state=state))

    @Slot()
    def _next_hit(self) -> None:
        self.preview.step(1)

    @Slot(int)
    def _step(self, steps: int) -> None:
        self.documents.step(steps)

    def _connect(self) -> None:
        self.chips.chosen.connect(self._filter_state)
        self.filters.name_changed.connect(self._filter_name)
        self.documents.current_changed.connect(self.document_chosen)
        self.documents.chosen_changed.connect(self._follow_choice)
        self.preview.hit_requested.connect(self._step)
        self.filters.search_box.returnPressed.connect(self._next_hit)
        self._table.summary_changed.connect(self.show_summary)

    def _left_side(self) -> QWidget:
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SMALL)
        column.addWidget(self.filters)
        column.addWidget(self.chips)
        column.addWidget(self.documents, stretch=1)
        column.addWidget(self.action_row)
        return side
