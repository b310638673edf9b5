"""A view whose numbers take long: they are computed when a button is pressed, and a bar shows how far that is."""

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from app.tabs.inspect.view import InspectView


class LongView(InspectView):
    """Has one of two buttons at a time; whoever derives from it lays them out, and the bar.

    Attributes:
        locked: What cannot be changed meanwhile.

    Signals:
        cancel_requested: What is not computed yet is not wanted any more.
    """

    cancel_requested = Signal()

    locked: Sequence[QWidget] = ()

    def __init__(
        self, start: QPushButton, cancel: QPushButton, progress: QProgressBar, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.start_button, self.cancel_button, self.progress = start, cancel, progress
        self.progress.setTextVisible(False)
        self.cancel_button.clicked.connect(self.cancel_requested)

    def show_progress(self, done: int, total: int) -> None:
        """So many parts of all are computed."""
        self._show_busy(busy=True)
        self.progress.setRange(0, total)
        self.progress.setValue(done)

    @Slot()
    def show_ended(self) -> None:
        """Nothing is being computed."""
        self._show_busy(busy=False)

    def _show_busy(self, *, busy: bool) -> None:
        self.progress.setVisible(busy)
        self.cancel_button.setVisible(busy)
        self.start_button.setVisible(not busy)
        for widget in self.locked:
            widget.setEnabled(not busy)
