"""How large a window may be and where it may stand: never beyond the part of its screen that is free for windows."""

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QWidget

TITLE_BAR_PX = 32  # until the window manager has reported how large its frame is
FILLING = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen


def available_geometry(window: QWidget) -> QRect:
    """The window's screen without panels and docks, in device-independent pixels."""
    return window.screen().availableGeometry()


def room_for(window: QWidget) -> QRect:
    """The part of the screen that the inside of the window's frame may take."""
    frame, inside = window.frameGeometry(), window.geometry()
    return available_geometry(window).adjusted(
        inside.left() - frame.left(),
        inside.top() - frame.top() or TITLE_BAR_PX,
        inside.right() - frame.right(),
        inside.bottom() - frame.bottom(),
    )


def bring_inside(window: QWidget) -> None:
    """Make a window as much smaller, and move it as far, as it takes to stand on its screen whole."""
    if not window.windowState() & FILLING:
        window.setGeometry(fitted(window.geometry(), room_for(window)))


def bring_to_front(window: QWidget) -> None:
    """Show a window before the others, also one that stands in the task bar only."""
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


def fitted(wanted: QRect, room: QRect) -> QRect:
    """`wanted` where it lies inside `room`, else the nearest rectangle that does."""
    size = wanted.size().boundedTo(room.size())
    rightmost, lowest = room.right() - size.width() + 1, room.bottom() - size.height() + 1
    corner = QPoint(
        min(max(wanted.left(), room.left()), rightmost), min(max(wanted.top(), room.top()), lowest)
    )
    return QRect(corner, size)
