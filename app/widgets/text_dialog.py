"""A dialog that asks for a text, with a sentence above the field."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialogButtonBox, QPlainTextEdit, QWidget

from app.widgets.dialog import Dialog
from app.widgets.label import Label
from app.widgets.layout import column
from app.widgets.theme import MEDIUM


class TextDialog(Dialog):
    """OK accepts; it is deleted when it has gone, however that was."""

    def __init__(
        self, title: str, explained: str, edit: QPlainTextEdit, size: QSize, parent: QWidget | None = None
    ) -> None:
        """`size` is that at first, in pixels."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.edit = edit
        both = QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        self.buttons = QDialogButtonBox(both)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.finished.connect(self.deleteLater)
        about = Label(explained, wordWrap=True, role="muted")
        column(about, (self.edit, 1), self.buttons, of=self, margins=MEDIUM)
        self.resize(size)
