"""An icon that stands for itself, in a colour of the theme, and follows when the theme changes."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QWidget

from app.widgets.icons import icon
from app.widgets.label import Label
from app.widgets.theme import colours


class Picture(Label):
    """A label that shows one of `resources/icons`. Decoration only: a screen reader passes it by."""

    _name, _colour, _size = "", "", 0  # Qt may announce a palette before __init__ got so far

    def __init__(self, name: str, colour: str, size: int, parent: QWidget | None = None) -> None:
        """`colour` is a field of `Colours`, `size` an edge in device-independent pixels."""
        super().__init__("", parent)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._size = size
        self.choose(name, colour)

    def choose(self, name: str, colour: str) -> None:
        """Show another icon, or another colour."""
        self._name, self._colour = name, colour
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._draw()

    def _draw(self) -> None:
        if self._name:
            tinted = icon(self._name, getattr(colours(), self._colour))
            self.setPixmap(tinted.pixmap(QSize(self._size, self._size), self.devicePixelRatio()))
