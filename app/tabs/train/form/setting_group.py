"""A group of settings that is folded away; its head says how many differ from the preset, and puts them back."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.widgets.controls.section import Section
from app.widgets.controls.small import named_button
from app.widgets.layout import STRETCH, row
from app.widgets.theme import set_role


class SettingGroup(Section):
    """A section with a button "Reset", which is there where something has changed.

    Signals:
        reset_requested: The settings of this group should be the preset's again.
    """

    reset_requested = Signal()

    def __init__(self, name: str, title: str, content: QWidget) -> None:
        super().__init__(name, title, content, f"Show or hide the settings of “{title}”")
        self._title = title
        self.reset_button = named_button(
            "Reset", f"{name}Reset", "undo", f"Use the preset's settings of “{title}” again"
        )
        self.reset_button.setAccessibleName(f"Reset {title}")
        set_role(self.reset_button, "quiet")
        self.reset_button.clicked.connect(self.reset_requested)
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertLayout(0, row(self.button, STRETCH, self.reset_button))
        self.show_changed(0)

    def show_changed(self, count: int) -> None:
        """How many settings are not the preset's."""
        self.button.setText(f"{self._title} · {count} changed" if count else self._title)
        self.button.setAccessibleName(self.button.text())
        if not count and self.reset_button.hasFocus():
            self.button.setFocus()
        self.reset_button.setVisible(count > 0)
