"""The right column of the Train tab: where a run stands, its charts and its samples, or what will appear there."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.widgets.controls.splitter import Splitter
from app.widgets.empty_state import EmptyState
from app.widgets.theme import SMALL

NO_RUN = "Choose a preset and press Start, or look at an earlier run."


class RunColumn(QWidget):
    """Empty until there is a run to show."""

    def __init__(
        self, head: QWidget, curves: QWidget, samples: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        split = Splitter("runSplitter", Qt.Orientation.Vertical, [curves, samples], [500, 120])
        self.pages = QStackedWidget()
        self.pages.addWidget(EmptyState("The curves of a run appear here", NO_RUN))
        self.pages.addWidget(split)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(head)
        layout.addWidget(self.pages, stretch=1)

    def show_run(self) -> None:
        """There is a run."""
        self.pages.setCurrentIndex(1)
