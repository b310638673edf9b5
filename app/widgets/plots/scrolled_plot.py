"""What all plots do with the mouse wheel."""

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent


class ScrolledPlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """A plot that zooms with Ctrl and the wheel; without Ctrl the wheel scrolls the page around the plot."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()
