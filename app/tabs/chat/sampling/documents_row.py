"""Below the slider of the documents: why it cannot be moved yet, a button that helps, and how far that has come."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QProgressBar, QWidget

from app.widgets.controls.small import named_button
from app.widgets.label import Label
from app.widgets.layout import boxed, column, row
from app.widgets.theme import TINY
from core.events.base import WorkProgress
from core.tasks.models.open_documents import DocumentsState
from core.wording import file_size, percent

NO_MODEL = "Open a model first."
LOOKING = "Looking at the documents."
WIDEST = 1_000  # of the progress bar: a count of bytes would be too large for Qt


class DocumentsRow(QWidget):
    """Shows and asks; it starts nothing.

    Signals:
        changed: `reason` is another one; True where the keyboard was in the row, and has nothing left here to be on.
        shown: The row has come in sight.
        build_requested, stop_requested: The documents should be made ready, or not now.
    """

    changed = Signal(bool)
    shown = Signal()
    build_requested = Signal()
    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("documentsRow")
        self._has_keyboard = False  # or had it, until what it was on went
        self.reason = NO_MODEL  # why a reply cannot lean on the documents; "" where it can
        self.status = Label(objectName="documentsStatus", wordWrap=True, role="muted")
        self.progress = QProgressBar(objectName="documentsProgress", textVisible=False)
        self.progress.setRange(0, WIDEST)
        self.progress.setAccessibleName("The documents")
        self.figures = Label(objectName="documentsFigures", role="muted")
        self.stop_button = named_button(
            "Stop", "stopDocumentsButton", "stop", "Stop; what was begun is discarded"
        )
        self.stop_button.clicked.connect(self.stop_requested)
        self.build_button = named_button(
            "Build it",
            "buildDocumentsButton",
            "play",
            "Index the training text, and learn from the validation text how far to rely on it",
        )
        self.build_button.clicked.connect(self.build_requested)
        self.progress_row = boxed(row((self.progress, 1), self.figures, self.stop_button, spacing=TINY))
        column(
            self.status,
            self.progress_row,
            (self.build_button, Qt.AlignmentFlag.AlignLeft),
            of=self,
            spacing=TINY,
        )
        self._show(NO_MODEL)

    def show_no_model(self) -> None:
        """There is no model whose documents these could be."""
        self._show(NO_MODEL)

    def show_looking(self) -> None:
        """What there is of them is being looked at."""
        self._show(LOOKING)

    def show_state(self, state: DocumentsState) -> None:
        """They are ready, or why not."""
        size = f" It takes {file_size(state.index_bytes)} on the disk." if state.index_bytes else ""
        self._show(f"{state.reason}{size}", can_build=state.index_bytes > 0)

    def show_progress(self, progress: WorkProgress) -> None:
        """They are being made ready."""
        done, total = progress.amounts
        share = done / max(1, total)
        self._show(f"{progress.work}.", is_working=True)
        self.progress.setValue(round(WIDEST * share))
        self.figures.setText(percent(share))

    def show_failure(self, message: str, remedy: str) -> None:
        """They cannot be made ready."""
        self._show(f"{message} {remedy}".strip(), can_build=True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    def _show(self, reason: str, *, can_build: bool = False, is_working: bool = False) -> None:
        self._has_keyboard |= self.build_button.hasFocus() or self.stop_button.hasFocus()
        self.status.setText(reason)
        self.status.setVisible(bool(reason))
        self.progress_row.setVisible(is_working)
        self.build_button.setVisible(can_build)
        passes_keyboard_on = self._has_keyboard and not reason
        if self._has_keyboard and (is_working or can_build):
            (self.stop_button if is_working else self.build_button).setFocus()
        if reason != LOOKING:
            self._has_keyboard = False
        if reason != self.reason:
            self.reason = reason
            self.changed.emit(passes_keyboard_on)
