"""What the model continues at each evaluation: a prompt a line, which can be changed before and during a run."""

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.widgets.controls.editors import LinesEdit, editor_for
from app.widgets.text_dialog import TextDialog
from app.widgets.unsent import UnsentTexts
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


class PromptsDialog(TextDialog):
    """Asks for prompts.

    Signals:
        chosen: The prompts, as a tuple of text.
    """

    chosen = Signal(object)

    def __init__(
        self,
        prompts: tuple[str, ...],
        training: bool,
        parent: QWidget | None = None,
        unsaved: UnsentTexts | None = None,
    ) -> None:
        """`training`: They are those of a run that trains. `unsaved` has what was typed before and not saved."""
        setting = next(each for each in describe(TrainingConfig) if each.name == "sample_prompts")
        editor = editor_for(setting)
        assert isinstance(editor, LinesEdit)
        editor.setObjectName("promptsEdit")
        editor.setAccessibleName(setting.title)
        editor.setToolTip(setting.help)
        editor.show_value(prompts)
        editor.setMaximumHeight(HIGHEST_PX)  # in a form it has three lines
        editor.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        explained = f"{EXPLAINED} {WHERE[training]}"
        super().__init__(
            "Sample prompts",
            explained,
            editor,
            FIRST_SIZE_PX,
            parent,
            unsaved=unsaved or UnsentTexts(),
            key=str(training),
        )
        self.setObjectName("promptsDialog")
        self._prompts = editor
        self.accepted.connect(self._pass_on)

    @Slot()
    def _pass_on(self) -> None:
        self.chosen.emit(self._prompts.read())
