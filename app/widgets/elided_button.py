"""A button whose text ends in "…" where there is no room for all of it, with the text to the left as in a field."""

from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from app.widgets.label import without_mnemonic
from app.widgets.theme import MEDIUM, SMALL, set_role


class ElidedButton(QPushButton):
    """As narrow as its place wants it."""

    def __init__(self, parent: QWidget | None = None, **properties: Any) -> None:
        super().__init__(parent, **properties)
        self._whole = ""
        set_role(self, "field")

    def show_text(self, text: str) -> None:
        """Show this text, or as much of it as there is room for."""
        self._whole = text
        self._elide()

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def sizeHint(self) -> QSize:
        return QSize(self.iconSize().width() + 2 * MEDIUM, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        icon = 0 if self.icon().isNull() else self.iconSize().width() + SMALL
        room = self.width() - icon - 2 * MEDIUM - 2
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        self.setText(without_mnemonic(shown))
