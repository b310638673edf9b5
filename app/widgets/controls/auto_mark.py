"""Beside an editor: whether its value is the one that follows from another choice, and the way back to it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton, QWidget

from app.widgets.icons import give_icon
from app.widgets.theme import LARGE, set_role

AUTO = "auto"


class AutoMark(QToolButton):
    """Says "auto", and is a button with an arrow back where the value was changed by hand."""

    def __init__(self, title: str, name: str, parent: QWidget | None = None) -> None:
        """`title` is that of the setting."""
        super().__init__(parent)
        self.setObjectName(name)
        self._title = title
        self.ensurePolished()  # before its font is known
        self.setFixedWidth(self.fontMetrics().horizontalAdvance(AUTO) + LARGE)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setText(AUTO)
        give_icon(self, "undo", "accent")
        set_role(self, "mark")
        self.show_auto("")

    def show_auto(self, reason: str) -> None:
        """The value follows; `reason` says from what, as a sentence."""
        self._show(is_auto=True)
        self.setToolTip(reason)
        self.setAccessibleName(f"{self._title}: auto")

    def show_changed(self, reason: str) -> None:
        """The value was changed by hand; `reason` says what it would be."""
        self._show(is_auto=False)
        self.setToolTip(reason)
        self.setAccessibleName(f"{self._title}: back to auto")

    def _show(self, *, is_auto: bool) -> None:
        style = Qt.ToolButtonStyle.ToolButtonTextOnly if is_auto else Qt.ToolButtonStyle.ToolButtonIconOnly
        self.setToolButtonStyle(style)
        self.setEnabled(not is_auto)
