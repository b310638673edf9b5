"""The panel at the right of the conversation: pages behind tabs, of which one is in front."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QTabWidget, QVBoxLayout, QWidget

from app.widgets.theme import MEDIUM, SMALL, set_role

WIDTH_PX = 320  # the longest unit of the sampling fits beside the scroll bar


class SidePanel(QFrame):
    """Takes the pages in the order in which they are added."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPanel")
        self.setAccessibleName("Panel")
        set_role(self, "card")
        self.setFixedWidth(WIDTH_PX)
        self.pages = QTabWidget()
        self.pages.setObjectName("chatPages")
        self.pages.setAccessibleName("Pages of the panel")
        self.pages.setDocumentMode(True)
        self.pages.tabBar().setAccessibleName("Pages of the panel")
        self.pages.tabBar().setObjectName("chatPagesBar")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, SMALL, MEDIUM, MEDIUM)
        layout.addWidget(self.pages)

    def add_page(self, page: QWidget, title: str, tooltip: str) -> None:
        place = self.pages.addTab(page, title)
        self.pages.setTabToolTip(place, tooltip)

    @Slot(QWidget)
    def show_page(self, page: QWidget) -> None:
        """Bring the panel and a page of it to the front."""
        self.show()
        self.pages.setCurrentWidget(page)

    def has_in_front(self, page: QWidget) -> bool:
        """Whether the user sees a page."""
        return self.isVisible() and self.pages.currentWidget() is page
