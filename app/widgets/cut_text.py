"""The whole of a text that its place cuts, as a tool tip."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QWidget


def shortened(widget: QWidget, text: str, room: int) -> str:
    """As much of a text as `room` has for it, in pixels, with an "…" where that is not all."""
    return widget.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)


def tells_whole(widget: QWidget, event: QHelpEvent, text: str, room: int) -> bool:
    """Answer the wish for the tool tip of a text that is cut: all of it, above what the tool tip says besides.

    Returns:
        Whether that was the wish; if not, `event` is for the widget itself.
    """
    if event.type() != QEvent.Type.ToolTip or shortened(widget, text, room) == text:
        return False
    own = widget.toolTip()
    told = [text, own] if text not in own and own not in text else [max(text, own, key=len)]
    QToolTip.showText(event.globalPos(), "\n\n".join(told), widget)
    return True
