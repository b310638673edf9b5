"""A strip that is there while files are read: how many, how long still, and ways to hold it back or end it."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.tabs.corpus.progress import ImportProgress
from app.widgets.controls import named_button
from app.widgets.icons import give_icon
from app.widgets.label import Label
from app.widgets.theme import LARGE, MEDIUM, SMALL, set_role

STEPS = 400  # of the bar: each new value paints it at once, so there are no more of them than can be seen


class ProgressStrip(QFrame):
    """Shows an `ImportProgress`.

    Signals:
        pause_requested: True to hold the import back, False to let it go on.
        cancel_requested: The import should end.
    """

    pause_requested = Signal(bool)
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "panel")
        self._waiting = ""
        self._paused = False
        self.bar = QProgressBar(objectName="importProgress", textVisible=False)
        self.bar.setAccessibleName("Files read")
        self.label = Label(objectName="importLabel")
        self.pause_button = named_button(
            "Pa&use", "pauseImportButton", "pause", "Hold the import back for a while"
        )
        self.pause_button.clicked.connect(self._toggle_pause)
        self.cancel_button = named_button(
            "&Cancel", "cancelImportButton", "close", "Stop reading (Esc). What was read stays."
        )
        self.cancel_button.setShortcut("Esc")
        self.cancel_button.clicked.connect(self._cancel)
        words = QVBoxLayout()
        words.setSpacing(SMALL)
        words.addWidget(self.label)
        words.addWidget(self.bar)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(LARGE, SMALL, MEDIUM, SMALL)
        layout.setSpacing(SMALL)
        layout.addLayout(words, stretch=1)
        layout.addSpacing(LARGE - SMALL)
        layout.addWidget(self.pause_button, alignment=Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.cancel_button, alignment=Qt.AlignmentFlag.AlignVCenter)

    def show_progress(self, progress: ImportProgress) -> None:
        """A bar that only moves to and fro says that the files are still being counted."""
        self.bar.setRange(0, STEPS if progress.files else 0)
        self.bar.setValue(STEPS * progress.done // max(progress.files, 1))
        if self.cancel_button.isEnabled():
            self.label.setText(progress.text() + self._waiting)

    def show_waiting(self, imports: int) -> None:
        """Say how many imports stand behind this one."""
        self._waiting = f" · {imports} more waiting" if imports else ""

    def show_busy(self, busy: bool) -> None:
        """Whether there is an import that can be held back or ended."""
        self.setVisible(busy)
        self.cancel_button.setEnabled(busy)
        self.pause_button.setEnabled(busy)

    def show_paused(self, paused: bool) -> None:
        self._paused = paused
        self.pause_button.setText("Res&ume" if paused else "Pa&use")
        self.pause_button.setAccessibleName("Resume" if paused else "Pause")
        self.pause_button.setToolTip("Go on reading" if paused else "Hold the import back for a while")
        give_icon(self.pause_button, "resume" if paused else "pause")

    @Slot()
    def _toggle_pause(self) -> None:
        self.pause_requested.emit(not self._paused)

    @Slot()
    def _cancel(self) -> None:
        self.cancel_button.setEnabled(False)
        self.pause_button.setEnabled(False)
        self.label.setText("Stopping")
        self.cancel_requested.emit()
