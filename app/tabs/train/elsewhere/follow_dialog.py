"""Which run is followed that trains elsewhere."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QLineEdit, QPushButton, QWidget

from app.widgets.dialog import Dialog
from app.widgets.label import Label
from app.widgets.layout import column, label_of, row
from app.widgets.theme import LARGE, MEDIUM, set_role
from app.widgets.write_dialog import WIDTH_PX

WHAT = (
    "The folder of the run, on a disk that this machine reads, or HOST:FOLDER, which is read through ssh. Its curves are shown "
    "as they come; nothing there is changed."
)


class FollowDialog(Dialog):
    """Asks for a place.

    Signals:
        follow_requested: A folder, or HOST:FOLDER.
    """

    follow_requested = Signal(str)

    def __init__(self, place: str, parent: QWidget | None = None) -> None:
        """`place` is the one that was followed last."""
        super().__init__(parent)
        self.setObjectName("followDialog")
        self.setWindowTitle("Follow a run elsewhere")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(WIDTH_PX)
        self.place_edit = QLineEdit(place, objectName="followPlaceEdit", accessibleName="Run")
        self.place_edit.setPlaceholderText("host:far-packed/runs/far")
        self.browse_button = QPushButton(
            "&Browse…", objectName="followBrowseButton", toolTip="Choose the folder of a run"
        )
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.follow_button = self.buttons.addButton("&Follow", QDialogButtonBox.ButtonRole.AcceptRole)
        self.follow_button.setObjectName("startFollowButton")
        self.follow_button.setDefault(True)
        set_role(self.follow_button, "primary")
        for button in (self.browse_button, self.buttons.button(QDialogButtonBox.StandardButton.Cancel)):
            button.setAutoDefault(False)
        where = row(label_of(self.place_edit, "&Run"), (self.place_edit, 1), self.browse_button)
        what = Label(WHAT, objectName="followWhat", wordWrap=True, role="muted")
        column(what, where, self.buttons, of=self, margins=LARGE, spacing=MEDIUM)
        self.place_edit.textChanged.connect(self._allow)
        self.browse_button.clicked.connect(self._browse)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._allow()

    @Slot()
    def accept(self) -> None:
        """Have it followed."""
        self.follow_requested.emit(self.place_edit.text().strip())
        super().accept()

    @Slot()
    def _allow(self) -> None:
        self.follow_button.setEnabled(bool(self.place_edit.text().strip()))

    @Slot()
    def _browse(self) -> None:
        dialog = QFileDialog(self, "Folder of the run")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.place_edit.setText)
        dialog.open()
