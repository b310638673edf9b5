"""Edit > Settings: what holds for all workspaces of this user on this machine."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialogButtonBox, QWidget

from app.widgets.controls.config_form import Fields, align, rows_of
from app.widgets.controls.elided_label import ElidedLabel
from app.widgets.controls.small import named_button
from app.widgets.dialog import Dialog
from app.widgets.label import Label
from app.widgets.layout import STRETCH, column, row
from app.widgets.theme import LARGE, MEDIUM
from core.config.personal import OF_RUNS, PersonalConfig
from core.system.packaged import APPLICATION

GROUPS = {"Window": ("appearance", "text_size"), "New imports": ("languages",), "New runs": OF_RUNS}
HINT = "These hold for all workspaces of yours on this computer. The command line does not use them."
_WIDTH_PX = 440


class SettingsDialog(Dialog):
    """What is chosen here holds once it is accepted, and not before.

    Signals:
        chosen: The `PersonalConfig` that holds from now on.
        move_requested: The workspace should move to another folder; what was chosen here is not taken.
    """

    chosen = Signal(object)
    move_requested = Signal()

    def __init__(self, config: PersonalConfig, workspace: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(f"Settings — {APPLICATION}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(_WIDTH_PX)
        self.fields = Fields(PersonalConfig, "settings", self)
        self.fields.set_value(config)
        standard = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(standard.Ok | standard.Cancel | standard.RestoreDefaults)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(standard.RestoreDefaults).clicked.connect(self._restore_defaults)
        self.fields.changed.connect(self._follow)
        self.place = ElidedLabel(str(workspace))
        self.move_button = named_button(
            "&Move…", "moveWorkspaceButton", "folder", "Move this workspace to another folder"
        )
        self.move_button.setAutoDefault(False)
        self.move_button.clicked.connect(self._move)
        self._lay_out()

    def accept(self) -> None:
        self.chosen.emit(self.fields.value())
        super().accept()

    def _lay_out(self) -> None:
        align(self.fields.all())
        hint = Label(HINT, role="muted", wordWrap=True)
        parts: list[QWidget] = []
        for title, names in GROUPS.items():
            parts += [Label(title, role="subtitle"), rows_of(self.fields.field(name) for name in names)]
        head, place = Label("This workspace", role="subtitle"), row((self.place, 1), self.move_button)
        column(*parts, hint, head, place, STRETCH, self.buttons, of=self, margins=LARGE, spacing=MEDIUM)

    @Slot()
    def _move(self) -> None:
        self.reject()
        self.move_requested.emit()

    @Slot()
    def _restore_defaults(self) -> None:
        self.fields.set_value(PersonalConfig())

    @Slot()
    def _follow(self) -> None:
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(not self.fields.problem())
