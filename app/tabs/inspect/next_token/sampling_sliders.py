"""Temperature and filters, each with a slider and a field, in two columns."""

from collections.abc import Mapping

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from app.widgets.controls.config_form import Fields
from app.widgets.controls.field_sliders import FieldSliders, Reach
from app.widgets.theme import LARGE, SMALL, TINY
from core.config.sampling import SamplingConfig

REACHES: Mapping[str, Reach] = {
    "temperature": Reach(0, 2, 0.05),
    "top_k": Reach(0, 100, 1),
    "top_p": Reach(0.01, 1, 0.01),
    "min_p": Reach(0, 1, 0.01),
}


class SamplingSliders(QWidget):
    """Four of the settings of a reply.

    Signals:
        changed: Another `SamplingConfig` is chosen. Not while a field says what cannot be.
    """

    changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields = Fields(SamplingConfig, "next", self, tuple(REACHES))
        self._value = self.fields.value()
        self.sliders = FieldSliders(self.fields, REACHES, self).sliders
        self._lay_out()
        self.fields.changed.connect(self._take)

    def value(self) -> SamplingConfig:
        """The newest settings that are allowed."""
        return self._value

    def set_value(self, config: SamplingConfig) -> None:
        self.fields.set_value(config)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SMALL)
        grid.setVerticalSpacing(TINY)
        for place, field in enumerate(self.fields.all()):
            field.editor.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            line, side = place % 2, 4 * (place // 2)
            for column, widget in enumerate((field.label, self.sliders[field.setting.name], field.row)):
                grid.addWidget(widget, line, side + column)
            grid.setColumnStretch(side + 1, 1)
        grid.setColumnMinimumWidth(3, LARGE)  # between both halves

    def stops(self) -> list[QWidget]:
        """What the Tab key leads to, as the eye goes: line by line."""
        fields = self.fields.all()
        in_lines = (*fields[::2], *fields[1::2])
        return [part for field in in_lines for part in (self.sliders[field.setting.name], field.editor)]

    @Slot()
    def _take(self) -> None:
        if not self.fields.problem():
            self._value = self.fields.value()
            self.changed.emit(self._value)
