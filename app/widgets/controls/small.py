"""Small controls that several tabs are made of, each set up the same way."""

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QApplication, QFrame, QPushButton, QScrollArea, QSpinBox, QToolButton, QWidget

from app.widgets.controls.wheel import leave_to_page
from app.widgets.icons import give_icon
from app.widgets.theme import SMALL, set_role

FIELD_LINE_PX, FIELD_FRAME_PX = 22, 10  # as the style sheet has them


def named_button(
    text: str, name: str, picture: str, tooltip: str, colour: str = "", *, role: str = ""
) -> QPushButton:
    """A button with an icon, and names for tests and for assistive tools.

    Args:
        text: With `&` before the letter that is its key.
        name: The object name.
        picture, colour: As for `give_icon`.
        role: Its look, as for `set_role`.
    """
    button = QPushButton(text, objectName=name, toolTip=tooltip, accessibleName=text.replace("&", ""))
    if role:
        set_role(button, role)
    give_icon(button, picture, colour)
    return button


def tool_button(name: str, picture: str, title: str, tooltip: str = "") -> QToolButton:
    """A flat button with an icon only, which the keyboard reaches; its `title` is its tool tip, too, where it has no other."""
    button = QToolButton(objectName=name, autoRaise=True, accessibleName=title, toolTip=tooltip or title)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    give_icon(button, picture)
    return button


def toggle_button(text: str, name: str, tooltip: str) -> QToolButton:
    """A button that stays down, as one of several or by itself."""
    button = QToolButton(text=text, objectName=name, checkable=True, toolTip=tooltip)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    set_role(button, "toggle")
    return button


def scrolled(widget: QWidget) -> QScrollArea:
    """Return an area that scrolls `widget` where it does not fit. The Tab key skips the area itself."""
    area = ScrollArea()
    area.setWidgetResizable(True)
    area.setWidget(widget)
    return area


class CountBox(QSpinBox):
    """A spin box that is as high as other fields: Qt counts a style sheet's frame twice in its size hint."""

    def __init__(self, name: str, title: str, tooltip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setToolTip(tooltip)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(SMALL, 0, 0, 0)  # a style sheet's padding does not reach inside

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not leave_to_page(self, event):
            super().wheelEvent(event)

    def sizeHint(self) -> QSize:
        lines = max(FIELD_LINE_PX, self.fontMetrics().height())
        return QSize(super().sizeHint().width(), lines + FIELD_FRAME_PX)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


def application() -> QApplication:
    """The program that all widgets belong to."""
    app = QApplication.instance()
    assert isinstance(app, QApplication), "there is no widget without it"
    return app


class ScrollArea(QScrollArea):
    """Scrolls to whatever gets the focus, also from outside: Qt does so only on the way within the area."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        application().focusChanged.connect(self._show_focus)

    @Slot(QWidget, QWidget)
    def _show_focus(self, _before: QWidget | None, now: QWidget | None) -> None:
        clicked = (
            QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
        )  # what is clicked stays where it is
        if now is not None and self.isAncestorOf(now) and not clicked:
            self.ensureWidgetVisible(now, 0, SMALL)
