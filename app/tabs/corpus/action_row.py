"""The row below the table: how many files are chosen, and buttons for what fits them."""

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.tabs.corpus.row_actions import RowActions
from app.tabs.corpus.summary import Summary
from app.widgets.icons import give_icon
from app.widgets.label import Label
from app.widgets.theme import HUGE, LARGE, TINY, set_role

_WITH_TEXT = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_ICON = Qt.ToolButtonStyle.ToolButtonIconOnly


class ActionRow(QWidget):
    """Always there, so that the table keeps its place when files are chosen. Where there is little room, the buttons
    are icons alone, and their tool tips say the rest.

    Signals:
        near_duplicates_requested: All near duplicates should be left out.
    """

    near_duplicates_requested = Signal()

    def __init__(self, actions: RowActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.count_label = Label(objectName="chosenLabel")
        set_role(self.count_label, "muted")
        self.near_button = QToolButton(objectName="nearButton", autoRaise=True)
        self.near_button.setToolTip(
            "Leave out every document that nearly repeats another one. Undo takes them in again."
        )
        give_icon(self.near_button, "similar")
        self.near_button.clicked.connect(self.near_duplicates_requested)
        self._buttons = [self.near_button, *(_ActionButton(action) for action in actions.buttons())]
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        layout.addWidget(self.count_label)
        layout.addStretch()
        for button in self._buttons:
            button.setToolButtonStyle(_WITH_TEXT)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            layout.addWidget(button)
        self.setFixedHeight(self.near_button.sizeHint().height() + TINY)
        self.show_counts(0, 0, 0)
        self.show_summary(Summary())

    def minimumSizeHint(self) -> QSize:
        return QSize(self.count_label.sizeHint().width(), self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a button came or went
            self._fit()
        return super().event(event)

    def show_counts(self, chosen: int, shown: int, files: int) -> None:
        """How many rows are chosen, and how many the filter shows of all files."""
        if chosen > 1:
            self.count_label.setText(f"{chosen:,} of {shown:,} chosen")
        elif shown != files:
            self.count_label.setText(f"{shown:,} of {files:,} files shown")
        else:
            self.count_label.setText(f"{files:,} file{'' if files == 1 else 's'}")

    def show_summary(self, summary: Summary) -> None:
        self.near_button.setText(f"Leave out &near duplicates ({summary.near_included:,})")
        self.near_button.setAccessibleName(self.near_button.text().replace("&", ""))
        self.near_button.setVisible(summary.near_included > 0)

    def _fit(self) -> None:
        """Let the buttons have words if there is room for all of them."""
        there = [button for button in self._buttons if not button.isHidden()]
        words = sum(_width_with_words(button) + TINY for button in there)
        style = _WITH_TEXT if self.count_label.sizeHint().width() + words <= self.width() else _ICON
        for button in self._buttons:
            if button.toolButtonStyle() != style:
                button.setToolButtonStyle(style)


class _ActionButton(QToolButton):
    """A button that is there only while its action fits."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        self._action = action
        self.setDefaultAction(action)
        self.setObjectName(f"{action.text().replace('&', '').replace(' ', '').rstrip('…')}Button")
        self.setAutoRaise(True)
        self.setAccessibleName(action.text().replace("&", ""))
        action.enabledChanged.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self.setVisible(self._action.isEnabled())


def _width_with_words(button: QToolButton) -> int:
    words = button.fontMetrics().horizontalAdvance(button.text().replace("&", ""))
    return words + button.iconSize().width() + LARGE + HUGE
