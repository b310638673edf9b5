"""A browser of a vocabulary: the table, and the field that finds tokens in it."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QTableView,
    QWidget,
)

from app.tabs.train.tokenizer.vocabulary_table import ID, TOKEN, VocabularyTable
from app.widgets.label import Label
from app.widgets.layout import column, row
from app.widgets.theme import MEDIUM
from core.tasks.models.examine_tokenizer import TokenizerCard
from core.wording import counted, number

ROW_HEIGHT_PX = 28
WIDTHS_PX = (90, 300, 90, 130)


class VocabularyPanel(QWidget):
    """Shows the tokens of a card, sorted by the column whose title is clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._total = 0
        self.table = VocabularyTable(self)
        self.view = QTableView(objectName="vocabularyView", accessibleName="Vocabulary")
        self.view.setModel(self.table)
        self.filter = QLineEdit(objectName="vocabularyFilter", clearButtonEnabled=True)
        self.filter.setAccessibleName("Find tokens")
        self.filter.setPlaceholderText("Find a token or an id")
        self.matches = Label(objectName="vocabularyMatches", role="muted")
        self._arrange_view()
        self._lay_out()
        self.filter.textChanged.connect(self._filter)

    def show_card(self, card: TokenizerCard) -> None:
        self._total = len(card.entries())
        self.table.show(card.entries())
        self._filter()

    @Slot(int)
    def go_to(self, token_id: int) -> None:
        """Select a token and bring it into view; without effect where the filter leaves it out."""
        row = self.table.row_of(token_id)
        if row >= 0:
            self.view.selectRow(row)
            self.view.scrollTo(self.table.index(row, ID), QAbstractItemView.ScrollHint.PositionAtCenter)

    def _arrange_view(self) -> None:
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setAlternatingRowColors(True)
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.setTabKeyNavigation(False)  # Tab leaves the table; the arrow keys move in it
        self.view.verticalHeader().hide()
        self.view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT_PX)
        header = self.view.horizontalHeader()
        header.setHighlightSections(False)
        header.setSortIndicator(ID, Qt.SortOrder.AscendingOrder)
        for place, width in enumerate(WIDTHS_PX):
            self.view.setColumnWidth(place, width)
        header.setSectionResizeMode(TOKEN, QHeaderView.ResizeMode.Stretch)
        self.view.setSortingEnabled(True)

    def _lay_out(self) -> None:
        title = Label("&Vocabulary", buddy=self.filter, role="subtitle")
        column(row(title, (self.matches, 1), (self.filter, 1), spacing=MEDIUM), (self.view, 1), of=self)

    @Slot()
    def _filter(self) -> None:
        self.table.filter(self.filter.text())
        shown, total = self.table.rowCount(), counted(self._total, "token")
        self.matches.setText(f"{number(shown)} of {total}" if shown < self._total else total)
