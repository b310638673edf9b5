"""The size of a model in three words, with what each comes to; any other size is selected under Details."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from app.widgets.controls.small import toggle_button
from app.widgets.label import Label
from app.widgets.layout import column, row
from app.widgets.theme import TINY
from core.config.presets import PRESETS
from core.config.run import RunConfig
from core.config.sizes import CHOICES
from core.wording import rounded

MEASURED = "Measured on two processor cores, without a GPU; another text gives other figures."


class SizeChoiceRow(QWidget):
    """Three buttons beside each other, one of them down, and what the size means below.

    Signals:
        size_chosen: The preset of the button that the user has pressed.
    """

    size_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: dict[str, QToolButton] = {}
        for preset, choice in CHOICES.items():
            tip = f"{choice.reached} {MEASURED}"
            button = toggle_button(choice.title, f"{preset}SizeButton", tip)
            button.setSizePolicy(QPushButton().sizePolicy())
            button.setAccessibleName(f"Size: {choice.title}")
            button.clicked.connect(partial(self._choose, preset))
            self.buttons[preset] = button
        self.first = next(iter(self.buttons.values()))
        self.meaning = Label(objectName="sizeMeaning", wordWrap=True, role="muted", toolTip=MEASURED)
        self.note = Label(objectName="sizeNote", wordWrap=True, visible=False)
        buttons = row(*((button, 1) for button in self.buttons.values()), spacing=TINY)
        column(buttons, self.meaning, self.note, of=self, spacing=TINY)

    def show_run(self, run: RunConfig, parameters: int) -> None:
        """Say what a run's size means; `parameters` is about how many weights it has."""
        for name, button in self.buttons.items():
            button.setChecked(name == run.preset)
        count = f"≈ {rounded(parameters)} parameters"
        preset = PRESETS[run.preset]
        if run.model != preset.run.model:
            self.meaning.setText(f"{count}, changed under Details.")
        elif run.preset in CHOICES:
            self.meaning.setText(f"{count}. {CHOICES[run.preset].reached}")
        else:
            self.meaning.setText(f"{count}: {preset.title}, selected under Details.")

    def show_note(self, sentence: str) -> None:
        """What else changed with the size; "" where nothing did."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))

    def set_fixed(self, reason: str) -> None:
        """Let nobody choose another size, for a reason; "" lets them again."""
        for preset, button in self.buttons.items():
            button.setEnabled(not reason)
            button.setToolTip(reason or f"{CHOICES[preset].reached} {MEASURED}")

    def _choose(self, preset: str, _checked: bool = False) -> None:
        for other, button in self.buttons.items():
            button.setChecked(other == preset)
        self.size_chosen.emit(preset)
