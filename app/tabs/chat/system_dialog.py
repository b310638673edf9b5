"""Where a conversation's system message is written."""

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QWidget

from app.widgets.label import Label
from app.widgets.layout import column
from app.widgets.theme import MEDIUM

FIRST_SIZE_PX = QSize(480, 320)
EXPLAINED = (
    "What the model is told before the conversation. It begins the first question; "
    "a model follows it only as far as its documents held such conversations. Empty: none."
)


class SystemDialog(QDialog):
    """Asks for a text.

    Signals:
        chosen: The text, which may be empty.
    """

    chosen = Signal(str)

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("systemDialog")
        self.setWindowTitle("System message")
        explained = Label(EXPLAINED, wordWrap=True, role="muted")
        self.edit = QPlainTextEdit(objectName="systemEdit", tabChangesFocus=True)
        self.edit.setAccessibleName("System message")
        self.edit.setPlainText(text)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.accepted.connect(self._pass_on)
        self.finished.connect(self.deleteLater)
        column(explained, self.edit, self.buttons, of=self, margins=MEDIUM)
        self.resize(FIRST_SIZE_PX)

    @Slot()
    def _pass_on(self) -> None:
        self.chosen.emit(self.edit.toPlainText())
