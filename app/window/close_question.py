"""The question that stands between running work and a window that should close."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from app.settings import APPLICATION
from app.widgets.label import MessageBox

# What is added to "still training", and the two answers.
STILL_AT_WORK = (
    "It can stop at the next step and save what it has, then close.",
    "&Stop and close",
    "&Keep running",
)
BEFORE_ANOTHER = (
    "It can stop at the next step and save what it has, then the other workspace opens.",
    "&Stop and open",
    "&Keep running",
)
STILL_STOPPING = (
    "It was asked to stop and has not come to the end of its step yet. Closing now loses nothing that is saved: "
    "a run goes on from its last checkpoint, an import with the files that are left.",
    "Close &now",
    "&Wait",
)


class CloseQuestion(MessageBox):
    """Two answers, of which the one that changes nothing is chosen by Enter and Esc.

    Signals:
        agreed: The work should end, or be left.
    """

    agreed = Signal()

    def __init__(self, doing: str, words: tuple[str, str, str], window: QWidget) -> None:
        """`doing` is what goes on, and `words` one of the three of this page."""
        more, yes, no = words
        super().__init__(
            QMessageBox.Icon.Question, APPLICATION, f"{APPLICATION} is still {doing}.", more, window
        )
        self.addButton(yes, QMessageBox.ButtonRole.AcceptRole).clicked.connect(self.agreed)
        keep = self.addButton(no, QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(keep)
        self.setEscapeButton(keep)
