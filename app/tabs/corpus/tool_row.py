"""The top of the Corpus tab: what the corpus amounts to, and how to add to it."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QVBoxLayout, QWidget

from app.widgets.icons import give_icon
from app.widgets.theme import SMALL, set_role

CHARACTERS_PER_TOKEN = 4  # a common figure for English text and a vocabulary of some thousands


class ToolRow(QWidget):
    """Totals on the left, buttons on the right.

    Signals:
        files_wished: The user wants to choose files.
        folder_wished: The user wants to choose a folder.
    """

    files_wished = Signal()
    folder_wished = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.totals = QLabel(objectName="totalsLabel")
        self.totals.setToolTip(
            f"Documents that are ticked. Tokens are estimated at {CHARACTERS_PER_TOKEN} characters each; "
            "training counts them exactly."
        )
        self.sample_button = QPushButton("&Try the sample", objectName="sampleButton")
        self.sample_button.setToolTip("Write the sample corpus, train a first model on it, and talk with it")
        give_icon(self.sample_button, "sample")
        self.add_button = QPushButton("Add &documents", objectName="addButton")
        self.add_button.setToolTip(
            "Choose files (Ctrl+O) or a folder (Ctrl+Shift+O), or drop them on this page"
        )
        give_icon(self.add_button, "add", "on_accent")
        set_role(self.add_button, "primary")
        self.add_button.setMenu(self._make_menu())
        self._lay_out()
        self.show_totals(0, 0)

    @Slot(int, int)
    def show_totals(self, documents: int, characters: int) -> None:
        """What is included now."""
        if documents == 0:
            self.totals.setText("No text to learn from yet")
            return
        noun = "document" if documents == 1 else "documents"
        tokens = characters // CHARACTERS_PER_TOKEN
        self.totals.setText(
            f"{documents:,} {noun} · {characters:,} characters · ≈ {tokens:,} tokens (estimated)"
        )

    def _make_menu(self) -> QMenu:
        menu = QMenu(self)
        files = QAction("&Files…", self)
        files.triggered.connect(self.files_wished)
        folder = QAction("Fol&der…", self)
        folder.triggered.connect(self.folder_wished)
        for action, picture in ((files, "file"), (folder, "folder")):
            give_icon(action, picture)
            menu.addAction(action)
        return menu

    def _lay_out(self) -> None:
        title = QLabel("Corpus")
        set_role(title, "title")
        set_role(self.totals, "muted")
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(title)
        words.addWidget(self.totals)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addLayout(words, stretch=1)
        layout.addWidget(self.sample_button)
        layout.addWidget(self.add_button)
