"""Small controls that several tabs are made of, each set up the same way."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from app.widgets.icons import give_icon


def named_button(text: str, name: str, picture: str, tooltip: str, colour: str = "") -> QPushButton:
    """A button with an icon, and names for tests and for assistive tools.

    Args:
        text: With `&` before the letter that is its key.
        name: The object name.
        picture, colour: As for `give_icon`.
    """
    button = QPushButton(text, objectName=name, toolTip=tooltip)
    button.setAccessibleName(text.replace("&", ""))
    give_icon(button, picture, colour)
    return button


def scrolled(widget: QWidget) -> QScrollArea:
    """`widget` in an area that scrolls up and down only, and is no stop on the way of the Tab key."""
    area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(widget)
    return area
