"""What the model continues at each evaluation: a prompt a line, which can be changed before and during a run."""

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QSizePolicy, QWidget

from app.widgets.controls.editors import LinesEdit, editor_for
from app.widgets.label import Label
from app.widgets.layout import column
from app.widgets.theme import MEDIUM
from core.config.setting import describe
from core.config.training import TrainingConfig

FIRST_SIZE_PX = QSize(480, 280)
HIGHEST_PX = 10_000
EXPLAINED = (
    "One prompt per line. The model continues each of them at every evaluation, always with the same seed."
)
WHERE = {  # whether a run trains: when it holds
    True: "The run stops at its next step, saves, and continues with them.",
    False: "They hold for the next run. Without any, they are beginnings of several documents.",
}


class PromptsDialog(QDialog):
    """Asks for prompts.

    Signals:
        chosen: The prompts, as a tuple of text.
    """

    chosen = Signal(object)

    def __init__(self, prompts: tuple[str, ...], training: bool, parent: QWidget | None = None) -> None:
        """`training`: They are those of a run that trains."""
        super().__init__(parent)
        self.setObjectName("promptsDialog")
        self.setWindowTitle("Sample prompts")
        setting = next(each for each in describe(TrainingConfig) if each.name == "sample_prompts")
        editor = editor_for(setting)
        assert isinstance(editor, LinesEdit)
        self.edit = editor
        self.edit.setObjectName("promptsEdit")
        self.edit.setAccessibleName(setting.title)
        self.edit.setToolTip(setting.help)
        self.edit.show_value(prompts)
        self.edit.setMaximumHeight(HIGHEST_PX)  # in a form it has three lines
        self.edit.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        explained = Label(f"{EXPLAINED} {WHERE[training]}", wordWrap=True, role="muted")
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.accepted.connect(self._pass_on)
        self.finished.connect(self.deleteLater)
        column(explained, (self.edit, 1), self.buttons, of=self, margins=MEDIUM)
        self.resize(FIRST_SIZE_PX)

    @Slot()
    def _pass_on(self) -> None:
        self.chosen.emit(self.edit.read())
