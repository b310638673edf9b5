"""The panel at the right of the conversation: pages, of which one is in front, and a button for each above them."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from app.widgets.controls import toggle_button
from app.widgets.theme import MEDIUM, SMALL, TINY, set_role

WIDTH_PX = 340  # the buttons of three pages fit


class Page(NamedTuple):
    """A page, and what its button says."""

    widget: QWidget
    title: str
    tooltip: str


class SidePanel(QFrame):
    """Shows the first page at first.

    Signals:
        page_changed: Another page is in front.
    """

    page_changed = Signal()

    def __init__(self, pages: Sequence[Page], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPanel")
        self.setAccessibleName("Panel")
        set_role(self, "card")
        self.setFixedWidth(WIDTH_PX)
        self._buttons = [self._button(page) for page in pages]  # before the pages, for the Tab key
        self._pages = QStackedWidget(self)
        row = QHBoxLayout()
        row.setSpacing(TINY)
        row.setAlignment(Qt.AlignmentFlag.AlignLeft)
        for button, page in zip(self._buttons, pages, strict=True):
            row.addWidget(button)
            self._pages.addWidget(page.widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        layout.setSpacing(SMALL)
        layout.addLayout(row)
        layout.addWidget(self._pages, stretch=1)
        self._mark()

    def _button(self, page: Page) -> QToolButton:
        button = toggle_button(page.title, f"{page.title.replace(' ', '').lower()}PageButton", page.tooltip)
        button.setParent(self)
        button.setAccessibleName(f"{page.title} (page of the panel)")
        button.clicked.connect(self._choose)
        return button

    def show_page(self, page: QWidget) -> None:
        """Bring a page of the panel to the front."""
        self._pages.setCurrentWidget(page)
        self._mark()
        self.page_changed.emit()

    def has_in_front(self, page: QWidget) -> bool:
        """Whether the user sees a page."""
        return self.isVisible() and self._pages.currentWidget() is page

    def focus(self) -> None:
        """Put the keyboard on the button of the page in front."""
        self._buttons[self._pages.currentIndex()].setFocus()

    @Slot()
    def _choose(self) -> None:
        button = self.sender()
        assert isinstance(button, QToolButton), "only the buttons are connected"
        self._pages.setCurrentIndex(self._buttons.index(button))
        self._mark()
        self.page_changed.emit()

    def _mark(self) -> None:
        for place, button in enumerate(self._buttons):
            button.setChecked(place == self._pages.currentIndex())
