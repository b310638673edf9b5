"""The counts of files by state, each a button that filters by it."""

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QToolButton, QWidget

from app.tabs.corpus.columns import STATES
from app.tabs.corpus.summary import Summary
from app.widgets.flow_layout import FlowLayout
from app.widgets.icons import icon
from app.widgets.theme import HUGE, TINY, colours, set_role
from core.wording import counted

ALL = ""


class StateChips(QWidget):
    """All · Done · Warning ...; a state that no file is in is not there.

    Signals:
        chosen: The state to be shown alone, or "" for all.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._flow = FlowLayout(self, TINY)
        self._group = QButtonGroup(self)
        self._chips = {state: self._chip(state) for state in (ALL, *STATES)}
        self._chips[ALL].setChecked(True)
        self._group.buttonClicked.connect(self._choose)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._draw()

    def chip(self, state: str) -> QToolButton:
        """The button of a state; of all files for ""."""
        return self._chips[state]

    def show_summary(self, summary: Summary) -> None:
        """Count anew. Where no file is left in the chosen state, all are shown again."""
        for state, chip in self._chips.items():
            count = summary.states[state] if state else summary.files
            title = STATES[state].title if state else "All"
            if chip.text() != f"{title} {count:,}":
                chip.setText(f"{title} {count:,}")
                chip.setFixedWidth(_width(chip))
                chip.setAccessibleName(f"{title}: {counted(count, 'file')}")
            chip.setVisible(count > 0)
        checked = self._group.checkedButton()
        if checked is not None and not checked.isVisibleTo(self) and summary.files:
            self._chips[ALL].click()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_chips"):
            self._draw()

    @Slot()
    def _choose(self) -> None:
        self.chosen.emit(self._group.checkedButton().property("state"))

    def _chip(self, state: str) -> QToolButton:
        chip = QToolButton(objectName=f"{state or 'all'}Chip", checkable=True)
        set_role(chip, "filter")
        chip.setProperty("state", state)
        chip.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        chip.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        chip.setToolTip(
            f"Show only files in the state “{STATES[state].title}”" if state else "Show all files"
        )
        chip.hide()
        self._group.addButton(chip)
        self._flow.addWidget(chip)
        return chip

    def _draw(self) -> None:
        for state, chip in self._chips.items():
            if state:
                look = STATES[state]
                chip.setIcon(icon(look.picture, QColor(getattr(colours(), look.colour))))


def _width(chip: QToolButton) -> int:
    """As wide as its words in bold, so that it keeps its width when it is chosen; Qt would leave more room."""
    font = chip.font()
    font.setBold(True)
    icon = 0 if chip.icon().isNull() else chip.iconSize().width() + TINY
    return QFontMetrics(font).horizontalAdvance(chip.text()) + icon + HUGE
