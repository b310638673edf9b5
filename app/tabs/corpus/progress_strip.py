"""A strip that is there while files are read: how many, how long still, and a way to end it."""

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.tabs.corpus.progress import ImportProgress
from app.widgets.icons import give_icon
from app.widgets.theme import LARGE, MEDIUM, SMALL, set_role


class ProgressStrip(QFrame):
    """Shows an `ImportProgress`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "panel")
        self._waiting = ""
        self.bar = QProgressBar(objectName="importProgress", textVisible=False)
        self.bar.setAccessibleName("Files read")
        self.label = QLabel(objectName="importLabel")
        self.cancel_button = QPushButton("&Cancel", objectName="cancelImportButton")
        self.cancel_button.setToolTip("Stop reading (Esc). What was read stays.")
        self.cancel_button.setShortcut("Esc")
        give_icon(self.cancel_button, "close")
        words = QVBoxLayout()
        words.setSpacing(SMALL)
        words.addWidget(self.label)
        words.addWidget(self.bar)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(LARGE, SMALL, MEDIUM, SMALL)
        layout.setSpacing(LARGE)
        layout.addLayout(words, stretch=1)
        layout.addWidget(self.cancel_button)

    def show_progress(self, progress: ImportProgress) -> None:
        """A bar that only moves to and fro says that the files are still being counted."""
        self.bar.setRange(0, progress.files)
        self.bar.setValue(progress.done)
        self.label.setText(progress.text() + self._waiting)

    def show_waiting(self, imports: int) -> None:
        """Say how many imports stand behind this one."""
        self._waiting = f" · {imports} more waiting" if imports else ""

    def show_cancelling(self) -> None:
        self.cancel_button.setEnabled(False)
        self.label.setText("Stopping after the files that are being read")
