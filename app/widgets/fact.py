"""A named value: what it is in small letters, and the value below."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.widgets.label import Label
from app.widgets.layout import column


class Fact(QWidget):
    """Hidden while there is no value. The value can be selected and copied."""

    def __init__(self, title: str, name: str, parent: QWidget | None = None) -> None:
        """`name` is the object name of the value's label."""
        super().__init__(parent)
        caption = Label(title, role="muted")
        self.value = Label(objectName=name, textInteractionFlags=Qt.TextInteractionFlag.TextSelectableByMouse)
        self.value.setAccessibleName(title)
        column(caption, self.value, of=self, spacing=0)

    def show_text(self, text: str) -> None:
        self.value.setText(text)
        self.setVisible(bool(text))
