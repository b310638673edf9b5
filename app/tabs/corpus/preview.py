"""The text of the document under the cursor, or why there is none."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app.tabs.corpus.columns import KINDS, READING, STATES, WITH_TEXT, file_size, pages
from app.widgets.theme import MEDIUM, SMALL, TINY, mono_font, set_role
from core.corpus.library import DocumentRow

LONGEST = 200_000  # characters; more makes a text field slow, and nobody reads it there

REMEDIES = {
    "encrypted": "Save a copy without the password and add that.",
    "unsupported": "Convert it to text, PDF or an image, or leave it out.",
    "failed": "Check that it opens in another program, or leave it out.",
    "cancelled": "Add it again to have it read.",
    "duplicate": "Nothing is lost: its text is in the corpus once.",
}


class DocumentPreview(QFrame):
    """A card with the document's name, what is known of it, and its text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card")
        self._name = QLabel(textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        set_role(self._name, "subtitle")
        self._facts = QLabel(textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        set_role(self._facts, "muted")
        self.text = QPlainTextEdit(objectName="documentPreview", readOnly=True, acceptDrops=False)
        set_role(self.text, "plain")
        self.text.document().setDocumentMargin(0)
        self.text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # lines wrap
        self.text.setAccessibleName("Text of the document")
        self.text.setToolTip("The text that was read from the chosen file")
        self.text.setTabChangesFocus(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        layout.setSpacing(TINY)
        layout.addWidget(self._name)
        layout.addWidget(self._facts)
        layout.addSpacing(SMALL)
        layout.addWidget(self.text, stretch=1)
        self.show_nothing()

    def show_nothing(self) -> None:
        self._name.setText("Preview")
        self._facts.setText("Choose a document to see the text that was read from it.")
        self.text.clear()

    def show_document(self, row: DocumentRow, text: str) -> None:
        """Show a file of the ledger.

        Args:
            text: What was read from it, of which `LONGEST` characters are enough; empty if nothing was.
        """
        self._name.setText(row.name)
        self._name.setToolTip(row.path)
        self._facts.setText(_facts(row))
        self.text.setFont(mono_font() if row.kind == "code" else QFont())
        self.text.setPlainText(_shown(row, text) if row.state in WITH_TEXT else _explanation(row))


def _facts(row: DocumentRow) -> str:
    facts = [KINDS.get(row.kind, row.kind)]
    if pages(row):
        facts.append(f"{pages(row):,} page{'s' if pages(row) > 1 else ''}")
    if row.characters:
        facts.append(f"{row.characters:,} characters")
    facts.append(file_size(row.bytes))
    if row.confidence >= 0:
        facts.append(f"OCR {row.confidence:.0f} % sure")
    if row.state == "warning":
        facts.append(row.reason)
    return " · ".join(fact for fact in facts if fact)


def _shown(row: DocumentRow, text: str) -> str:
    if row.characters <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n\n[The preview ends here, after {LONGEST:,} characters. The corpus has the whole text.]"


def _explanation(row: DocumentRow) -> str:
    if row.state == READING:
        return "This file is being read."
    lines = [row.reason or f"{STATES[row.state].title}.", REMEDIES.get(row.state, "")]
    return "\n\n".join(line for line in lines if line)
