"""Why Start cannot be pressed, beside it, and one click that mends it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from app.widgets.label import Label, without_mnemonic
from app.widgets.layout import row
from app.widgets.theme import MEDIUM, SMALL, set_role


class StartObstacle(QFrame):
    """Hidden where nothing stands in the way.

    Signals:
        mend_requested: What the button says should be done.
    """

    mend_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("startObstacle")
        set_role(self, "notice")
        self.label = Label(objectName="obstacleLabel", wordWrap=True)
        self.button = QPushButton(objectName="mendButton", toolTip="Do this, so that the run can start")
        self.button.setAccessibleName("Fix this")
        self.button.clicked.connect(self.mend_requested)
        row((self.label, 1), self.button, of=self, margins=(MEDIUM, SMALL, MEDIUM, SMALL))
        self.hide()

    def show_obstacle(self, sentence: str, mend: str) -> None:
        """Say what stands in the way, and what mends it; "" where nothing does."""
        self.label.setText(sentence)
        self.button.setText(without_mnemonic(mend))
        self.button.setAccessibleName(mend or "Fix this")
        self.button.setVisible(bool(mend))
        self.setVisible(bool(sentence))
