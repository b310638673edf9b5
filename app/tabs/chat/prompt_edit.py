"""Where a prompt is typed: Enter sends it, Shift+Enter begins a new line."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.widgets.theme import LARGE

MOST_LINES = 6


class PromptEdit(QPlainTextEdit):
    """Grows with its text, up to a few lines.

    Signals:
        send_requested: Enter was pressed.
    """

    send_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("promptEdit")
        self.setAccessibleName("Prompt")
        self.setToolTip("Enter sends, Shift+Enter begins a new line")
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._fit_height)
        self._fit_height()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier  # which marks the key, not a hand
        if enter and held == Qt.KeyboardModifier.NoModifier:
            self.send_requested.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_height()

    @Slot()
    def _fit_height(self) -> None:
        lines = min(max(round(self.document().size().height()), 1), MOST_LINES)
        self.setFixedHeight(
            lines * self.fontMetrics().lineSpacing() + int(2 * self.document().documentMargin()) + LARGE
        )
