"""Where a run is packed to be trained elsewhere: what will lie there, how far it is, and what to do with it."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialogButtonBox, QWidget

from app.widgets.layout import column, label_of, row
from app.widgets.theme import LARGE, MEDIUM
from app.widgets.write_dialog import WriteDialog, documents_folder
from core.events.base import Event, WorkProgress
from core.events.exporting import RunPacked
from core.tasks.training.pack_run import packed_name
from core.wording import file_size

WHAT = (
    "A folder with the settings of this run, its tokens, and scripts that train it with torchrun, Slurm, Kubernetes or "
    "SkyPilot. The text of your documents is not in it."
)
NEXT = (
    "Copy the folder to the other machine, and start there: SHEEPOP=/path/to/sheepop sh train.sh GPUS\n\nFile > Follow a run "
    "elsewhere shows its curves here meanwhile. To use its model, copy {folder} into the folder runs of this workspace."
)


class PackDialog(WriteDialog):
    """Asks for the folder.

    Signals:
        pack_requested: The path of the folder to make.
    """

    pack_requested = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__("pack", f"Run {name} elsewhere", "&Pack", parent)
        self._name, self._folder = name, Path()
        self.preview.setText(WHAT)
        self.open_button = self.buttons.addButton("&Open folder", QDialogButtonBox.ButtonRole.ActionRole)
        self.open_button.setObjectName("openPackedButton")
        self.open_button.setAutoDefault(False)
        self.open_button.hide()
        self.open_button.clicked.connect(self._open)
        self.path_edit.textEdited.connect(self._allow)
        place = row(label_of(self.path_edit, "&Folder"), self.place_row())
        parts = self.preview, place, self.problem, self.bar, self.said, self.buttons
        column(*parts, of=self, margins=LARGE, spacing=MEDIUM)
        self.show_place(documents_folder())

    def begin(self) -> None:
        self.pack_requested.emit(self.path)

    def file_name(self) -> str:
        return packed_name(self._name)

    @Slot(list)
    def show_events(self, events: Sequence[Event]) -> None:
        """How far it is, and where it lies."""
        for event in events:
            if isinstance(event, WorkProgress):
                self.show_share(*event.amounts)
            elif isinstance(event, RunPacked):
                self._show_packed(event)

    @Slot(object)
    def show_ended(self, path: Path | None) -> None:
        """It is there, or was stopped."""
        if path is None:
            self.show_result("")

    def _show_packed(self, event: RunPacked) -> None:
        self._folder = Path(event.path)
        following = NEXT.format(folder=f"runs/{event.name}")
        self.show_result(f"Packed: {event.path}, {file_size(event.bytes)}.\n\n{following}")
        self.open_button.show()
        self.open_button.setFocus()

    @Slot()
    def _allow(self) -> None:
        self.begin_button.setEnabled(bool(self.path_edit.text().strip()))

    @Slot()
    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))
