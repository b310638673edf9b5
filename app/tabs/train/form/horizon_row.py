"""How long a run trains, in one row: a number, and of what."""

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from app.widgets.controls.config_form import Fields
from app.widgets.controls.small import named_button
from app.widgets.label import Label
from app.widgets.theme import SMALL, TINY, set_role
from core.wording import noun_for

LIMITS = {f"max_{unit}": unit for unit in ("steps", "epochs", "tokens", "minutes")}
SHOWN_HERE = ("horizon", *LIMITS)
FIRST_EPOCHS = 4.0  # a text that is read four times is almost as good as new text


class HorizonRow(QObject):
    """The number that ends the run, and the box that says what it counts. The numbers of the other units are kept.

    Epochs are a limit beside the number of steps too: that is one number in the settings, and two here.
    """

    def __init__(self, fields: Fields[Any]) -> None:
        super().__init__(fields)
        self._fields = fields
        self._numbers = {unit: fields.field(name) for name, unit in LIMITS.items()}
        self._box = fields.editor("horizon")
        self._unit = ""
        self._epochs = {"steps": 0.0, "epochs": FIRST_EPOCHS}
        self.label = Label("Train for")
        self.label.setToolTip(fields.field("horizon").setting.help)
        self.also = Label()
        self.also.setToolTip("Whichever comes first ends the run")
        set_role(self.also, "muted")
        self._no_limit = named_button(
            "Remove", "removeEpochsButton", "close", "Let the steps alone end the run"
        )
        set_role(self._no_limit, "quiet")
        self.row = self._lay_out()
        self._box.changed.connect(self._change_unit)
        fields.changed.connect(self._show)
        self._no_limit.clicked.connect(self._remove_limit)
        self.follow()

    def follow(self) -> None:
        """Take over what somebody has put into the fields, as it is."""
        self._unit = self._box.read()
        self._epochs = {"steps": 0.0, "epochs": FIRST_EPOCHS}
        self._keep_epochs()
        self._show()

    def _lay_out(self) -> QWidget:
        row = QWidget()
        beside = QHBoxLayout()
        beside.setSpacing(SMALL)
        for field in self._numbers.values():
            field.unit.hide()
            beside.addWidget(field.row, stretch=1)
        beside.addWidget(self._box, alignment=Qt.AlignmentFlag.AlignTop)
        self.limit = QWidget()
        limit = QHBoxLayout(self.limit)
        limit.setContentsMargins(0, 0, 0, 0)
        limit.addWidget(self.also, stretch=1)
        limit.addWidget(self._no_limit)
        below = QVBoxLayout(row)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(TINY)
        below.addLayout(beside)
        below.addWidget(self.limit)
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop)
        for field in self._numbers.values():
            field.editor.installEventFilter(self)
        return row

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        """The box is as high as the number beside it, and the label stands at its middle."""
        if isinstance(event, QResizeEvent):
            height = event.size().height()
            self._box.setFixedHeight(height)
            self.label.setContentsMargins(0, (height - self.label.fontMetrics().height()) // 2, 0, 0)
        return super().eventFilter(editor, event)

    @Slot()
    def _change_unit(self) -> None:
        """The user has chosen another one: each unit has the number that it had last."""
        self._keep_epochs()
        self._unit = self._box.read()
        if self._unit in self._epochs:
            self._fields.show({"max_epochs": self._epochs[self._unit]})

    def _keep_epochs(self) -> None:
        epochs = self._fields.read().get("max_epochs")
        if self._unit in self._epochs and epochs is not None:
            self._epochs[self._unit] = epochs

    @Slot()
    def _show(self) -> None:
        unit = self._box.read()
        for name, field in self._numbers.items():
            field.row.setVisible(name == unit)
        self.label.setBuddy(self._numbers[unit].editor)
        epochs = self._fields.read().get("max_epochs") if unit == "steps" else 0
        self.limit.setVisible(bool(epochs))
        if epochs:
            self.also.setText(f"or {epochs:g} {noun_for(epochs, 'epoch')}")

    @Slot()
    def _remove_limit(self) -> None:
        self._fields.show({"max_epochs": 0.0})
        self._numbers["steps"].editor.setFocus()
