"""One dial for the size of a run: a slider from the smallest preset to the largest."""

from PySide6.QtCore import QEvent, QRect, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.widgets.controls.slider import ClickSlider
from app.widgets.label import Label
from app.widgets.theme import TINY, set_role
from core.config.presets import PRESETS
from core.config.sizes import SIZES, nearest_size

TITLES = {"teaching": "Teaching", "gpt2": "GPT-2"}  # shorter than the presets'
HANDLE_PX = 16  # as the style sheet has it


class SizeDial(QWidget):
    """A slider with a stop for each size, its name below.

    Signals:
        size_chosen: The preset whose stop the user has turned to.
    """

    size_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = ClickSlider("sizeSlider")
        self.slider.setParent(self)
        self.slider.setRange(0, len(SIZES) - 1)
        self.slider.setPageStep(1)
        self.slider.setAccessibleName("Size")
        self._labels = [
            Label(title_of(size), self, alignment=Qt.AlignmentFlag.AlignHCenter) for size in SIZES
        ]
        for label, size in zip(self._labels, SIZES, strict=True):
            label.setToolTip(PRESETS[size].help)
        self.slider.valueChanged.connect(self._choose)
        self.setFocusProxy(self.slider)
        self.show_preset(SIZES[0])

    def show_preset(self, preset: str) -> None:
        """Turn to a preset, or near one that is no size."""
        size = nearest_size(preset)
        with QSignalBlocker(self.slider):
            self.slider.setValue(SIZES.index(size))
        self._show(size, is_near=size != preset)

    def sizeHint(self) -> QSize:
        text = self._labels[0].sizeHint()
        width = sum(label.sizeHint().width() + TINY for label in self._labels)
        return QSize(width, self.slider.sizeHint().height() + text.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        height, cell = self.slider.sizeHint().height(), self.width() / len(SIZES)
        inset = (cell - HANDLE_PX) / 2  # so that the handle stands over its label's middle
        self.slider.setGeometry(QRect(round(inset), 0, round(self.width() - 2 * inset), height))
        for row, label in enumerate(self._labels):
            left, right = round(row * cell), round((row + 1) * cell)
            label.setGeometry(QRect(left, height, right - left, label.sizeHint().height()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on a name turns to it."""
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.slider.setFocus(Qt.FocusReason.MouseFocusReason)
            self.slider.setValue(int(event.position().x() * len(SIZES) / self.width()))

    @Slot(int)
    def _choose(self, stop: int) -> None:
        self._show(SIZES[stop], is_near=False)
        self.size_chosen.emit(SIZES[stop])

    def _show(self, size: str, *, is_near: bool) -> None:
        for label, key in zip(self._labels, SIZES, strict=True):
            set_role(label, "" if key == size and not is_near else "muted")
        said = f"About as large as {title_of(size)}" if is_near else title_of(size)
        self.slider.setAccessibleDescription(f"{said}: {PRESETS[size].help}")
        self.slider.setToolTip(
            f"{said}. The size sets layers, width, heads, context, batch and learning rates together; "
            "what was changed by hand stays."
        )


def title_of(size: str) -> str:
    """A size in a word."""
    return TITLES.get(size, PRESETS[size].title)
