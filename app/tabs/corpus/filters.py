"""What filters the table: part of a name, words in a text, and the state of a file."""

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QSizePolicy, QToolButton, QWidget

from app.tabs.corpus.columns import STATES
from app.tabs.corpus.rows import Summary
from app.widgets.flow_layout import FlowLayout
from app.widgets.icons import icon
from app.widgets.theme import HUGE, SMALL, TINY, colours, set_role

ALL = ""


class FilterRow(QWidget):
    """Two boxes to find documents with.

    Signals:
        name_changed: Part of the names to be shown.
        search_changed: The words to be found in texts.
    """

    name_changed = Signal(str)
    search_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.filter_box = _box(
            "filterBox", "Filter by name", "Show only the files whose names contain this (Ctrl+F)"
        )
        self.search_box = _box(
            "searchBox",
            "Search in texts",
            "Show only the documents that hold these words; “quoted words” stand together (Ctrl+Shift+F)",
        )
        self._pictures = {
            self.filter_box.addAction(icon("file"), QLineEdit.ActionPosition.LeadingPosition): "file",
            self.search_box.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition): "search",
        }
        self._draw()
        self.filter_box.textChanged.connect(self.name_changed)
        self.search_box.textChanged.connect(self.search_changed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(self.filter_box, stretch=2)
        row.addWidget(self.search_box, stretch=3)
        self._key(QKeySequence(QKeySequence.StandardKey.Find), self.filter_box)
        self._key(QKeySequence("Ctrl+Shift+F"), self.search_box)

    @Slot()
    def clear(self) -> None:
        """Show everything again."""
        self.filter_box.clear()
        self.search_box.clear()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_pictures"):
            self._draw()

    def _draw(self) -> None:
        for action, picture in self._pictures.items():
            action.setIcon(icon(picture, colours().muted))

    def _key(self, keys: QKeySequence, box: QLineEdit) -> None:
        shortcut = QShortcut(keys, self)
        shortcut.activated.connect(box.setFocus)
        shortcut.activated.connect(box.selectAll)


def _box(name: str, title: str, tip: str) -> QLineEdit:
    box = QLineEdit(objectName=name, placeholderText=title, clearButtonEnabled=True, toolTip=tip)
    box.setAccessibleName(title)
    box.setAcceptDrops(False)  # a drop on it is meant for the page
    return box


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
                chip.setAccessibleName(f"{title}: {count:,} files")
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
