"""Labels and message boxes that show every text as it is: a file's name may look like HTML.

By itself Qt guesses whether a text is HTML, and then follows what stands in it: a picture's address is opened, be it a
device, a pipe or a server. Tool tips are kept plain by the style sheet, which also reaches those that Qt makes itself.
"""

import unicodedata
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from app.widgets.theme import set_role


class Label(QLabel):
    """A `QLabel` that never takes its text for HTML; `role` is its look, as for `set_role`."""

    def __init__(
        self, text: str = "", parent: QWidget | None = None, *, role: str = "", **properties: Any
    ) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText, **properties)
        self.setText(text)  # behind the format: nothing is guessed about it
        if role:
            set_role(self, role)


class MessageBox(QMessageBox):
    """A `QMessageBox` that never takes its texts for HTML."""

    def __init__(
        self, picture: QMessageBox.Icon, title: str, text: str, more: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)  # before the texts, and for both of them
        self.setIcon(picture)
        self.setWindowTitle(title)
        self.setText(text)
        self.setInformativeText(more)


def without_mnemonic(text: str) -> str:
    """A text for a button, an action or a tab in which an "&" is just that, and marks no key."""
    return text.replace("&", "&&")


def spelled_out(text: str) -> str:
    """A text with the characters that a screen would not show, or would turn the others round with, as their codes."""
    return "".join(
        f"\\u{ord(sign):04x}" if unicodedata.category(sign).startswith(("C", "Zl", "Zp")) else sign
        for sign in text
    )
