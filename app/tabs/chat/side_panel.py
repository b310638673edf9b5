"""The panel at the right of the conversation: pages, of which one is in front, and a button for each above them."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from app.widgets.controls import toggle_button
from app.widgets.theme import MEDIUM, SMALL, TINY, set_role

WIDTH_PX = 320  # the longest unit of the sampling fits beside the scroll bar


class SidePanel(QFrame):
    """Takes the pages in the order in which they are added.

    Signals:
        page_changed: Another page is in front, or none can be seen any more.
    """

    page_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPanel")
        self.setAccessibleName("Panel")
        set_role(self, "card")
        self.setFixedWidth(WIDTH_PX)
        self._buttons: list[QToolButton] = []
        self._row = QHBoxLayout()
        self._row.setSpacing(TINY)
        self._row.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self._pages = QStackedWidget()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        layout.setSpacing(SMALL)
        layout.addLayout(self._row)
        layout.addWidget(self._pages, stretch=1)

    def add_page(self, page: QWidget, title: str, tooltip: str) -> None:
        button = toggle_button(title, f"{title.replace(' ', '').lower()}PageButton", tooltip)
        button.setAccessibleName(f"{title} (page of the panel)")
        button.clicked.connect(self._choose)
        self._row.addWidget(button)
        self._buttons.append(button)
        self._pages.addWidget(page)
        self._mark()

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
        self.show_page(self._pages.widget(self._buttons.index(button)))

    def _mark(self) -> None:
        for place, button in enumerate(self._buttons):
            button.setChecked(place == self._pages.currentIndex())
