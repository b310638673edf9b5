"""Steps from one hit of a search to the next: a count between two arrows."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.widgets.icons import give_icon
from app.widgets.label import Label
from app.widgets.theme import TINY, set_role


class HitStepper(QWidget):
    """There only while something is searched.

    Signals:
        step_requested: 1 for the next hit, -1 for the one before.
    """

    step_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = Label(objectName="hitLabel")
        set_role(self.label, "muted")
        self.back = _arrow("previousHitButton", "chevron-up", "The hit before (Shift+F3)")
        self.on = _arrow("nextHitButton", "chevron-down", "The next hit (F3)")
        self.back.clicked.connect(self._step_back)
        self.on.clicked.connect(self._step_on)
        QShortcut(QKeySequence("F3"), self).activated.connect(self._step_on)
        QShortcut(QKeySequence("Shift+F3"), self).activated.connect(self._step_back)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        for widget in (self.label, self.back, self.on):
            layout.addWidget(widget)
        self.hide()

    def show_hit(self, hit: int, hits: int) -> None:
        """The place of the hit that is shown, of so many."""
        self.label.setText(f"{hit + 1:,} of {hits:,}" if hits else "No hit here")
        self.back.setEnabled(hits > 0)
        self.on.setEnabled(hits > 0)

    def _step_on(self) -> None:
        self.step_requested.emit(1)

    def _step_back(self) -> None:
        self.step_requested.emit(-1)


def _arrow(name: str, picture: str, tip: str) -> QToolButton:
    arrow = QToolButton(objectName=name, autoRaise=True, toolTip=tip)
    arrow.setAccessibleName(tip)
    give_icon(arrow, picture)
    return arrow
