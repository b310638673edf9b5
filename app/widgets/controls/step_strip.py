"""A few named steps in a row, and which of them is being taken."""

from collections.abc import Sequence

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.widgets.label import Label
from app.widgets.layout import row
from app.widgets.theme import LARGE, SMALL, set_role

DONE = "✓"


class StepStrip(QWidget):
    """Hidden until a step is shown."""

    def __init__(self, titles: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._titles = tuple(titles)
        self._labels = [Label() for _ in titles]
        self.at_end = False  # whether the last step is shown
        layout = row(of=self, margins=(0, 0, LARGE, SMALL))
        for place, label in enumerate(self._labels):
            if place:
                arrow = Label("›")
                set_role(arrow, "muted")
                layout.addWidget(arrow)
            layout.addWidget(label)
        self.hide()

    @Slot(int)
    def show_step(self, current: int) -> None:
        """Show that the steps before `current`, counted from 0, are done, and that it is being taken."""
        for place, (label, title) in enumerate(zip(self._labels, self._titles, strict=True)):
            set_role(
                label, "subtitle" if place == current else "muted"
            )  # before the text, which asks for room
            label.setText(f"{DONE} {title}" if place < current else f"{place + 1} {title}")
        self.at_end = current == len(self._titles) - 1
        self.setAccessibleName(f"Step {current + 1} of {len(self._titles)}: {self._titles[current]}")
        self.show()
