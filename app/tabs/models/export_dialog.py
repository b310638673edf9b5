"""Where a model goes, in which format: what will be written is told before anything is."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QWidget,
)

from app.widgets.label import Label, MessageBox
from app.widgets.layout import column, form, label_of, row
from app.widgets.theme import LARGE, MEDIUM, set_role
from core.events.exporting import ExportProgress, ModelExported
from core.tasks.models.look_at_export import ExportOffer
from core.wording import file_size, number

WIDTH_PX = 560
TYPE_TITLES = {
    "f32": "float32: exact",
    "f16": "float16: half the size",
    "bf16": "bfloat16: half the size",
    "q8_0": "Q8_0: a quarter of the size",
}


class ExportDialog(QDialog):
    """Asks, follows the work, and says what came of it.

    Signals:
        export_requested: Format, number type, path, and whether an earlier export there is replaced.
        stop_requested: The work should end.
    """

    export_requested = Signal(str, str, object, bool)
    stop_requested = Signal()

    def __init__(self, name: str, offers: Sequence[ExportOffer], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("exportDialog")
        self.setWindowTitle(f"Export {name}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._name, self._offers, self._works = name, {offer.name: offer for offer in offers}, False
        self._make_widgets()
        self._lay_out()
        self._show_format()

    def show_progress(self, event: ExportProgress) -> None:
        """How far it has come."""
        self.bar.setRange(0, event.parts_total)
        self.bar.setValue(event.parts_done)

    def show_ended(self, event: ModelExported | None) -> None:
        """It is there, or was stopped."""
        self._set_working(False)
        if event is None:
            self.said.setText("Stopped. Nothing was written.")
            return
        differ = (
            "Its tensors and tokens were read back and are the same."
            if event.largest_difference is None
            else f"Read back, its logits differ by {event.largest_difference:.1e} at most."
        )
        same = (
            f" {number(event.compared_tokens)} tokens of text are the same in both."
            if event.compared_tokens
            else ""
        )
        self.said.setText(f"Written: {event.path}, {file_size(event.bytes)}. {differ}{same}")
        self.export_button.setEnabled(False)

    def show_problem(self, sentence: str) -> None:
        """Why it could not be done."""
        self._set_working(False)
        self.problem.setText(sentence)
        self.problem.show()

    def ask_to_replace(self, sentence: str) -> None:
        """Something stands there already."""
        self._set_working(False)
        question = MessageBox(
            QMessageBox.Icon.Question,
            "Replace the export?",
            sentence,
            "An earlier export of this program is replaced.",
            self,
        )
        question.setObjectName("replaceQuestion")
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        agree = question.addButton("&Replace it", QMessageBox.ButtonRole.AcceptRole)
        agree.clicked.connect(self._replace)
        question.setDefaultButton(question.addButton(QMessageBox.StandardButton.Cancel))
        question.open()

    def reject(self) -> None:
        """Esc and Close stop the work first."""
        if self._works:
            self.stop_requested.emit()
        else:
            super().reject()

    def _make_widgets(self) -> None:
        self.format_box = QComboBox(objectName="exportFormatBox", accessibleName="Format")
        self.format_box.setToolTip("For which program the model is written")
        for offer in self._offers.values():
            self.format_box.addItem(offer.title[0].upper() + offer.title[1:], offer.name)
        self.type_box = QComboBox(objectName="exportTypeBox", accessibleName="Weights")
        self.type_box.setToolTip("How weights are stored")
        self.path_edit = QLineEdit(objectName="exportPathEdit", accessibleName="Place")
        self.browse_button = QPushButton(
            "&Browse…", objectName="exportBrowseButton", toolTip="Choose the folder to write into"
        )
        self.preview = Label(objectName="exportPreview", wordWrap=True, role="muted")
        self.problem = Label(objectName="exportProblem", wordWrap=True, visible=False, role="error")
        self.said = Label(objectName="exportSaid", wordWrap=True)
        self.said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bar = QProgressBar(objectName="exportBar", visible=False, textVisible=False)
        self.bar.setAccessibleName("How far the export is")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.export_button = self.buttons.addButton("&Export", QDialogButtonBox.ButtonRole.AcceptRole)
        self.export_button.setObjectName("startExportButton")
        self.export_button.setDefault(True)
        set_role(self.export_button, "primary")
        for button in (self.browse_button, self.buttons.button(QDialogButtonBox.StandardButton.Close)):
            button.setAutoDefault(False)
        self.format_box.currentIndexChanged.connect(self._show_format)
        self.type_box.currentIndexChanged.connect(self._show_preview)
        self.path_edit.textEdited.connect(self._show_preview)
        self.browse_button.clicked.connect(self._browse)
        self.buttons.accepted.connect(self._begin)
        self.buttons.rejected.connect(self.reject)

    def _lay_out(self) -> None:
        rows = form(("&Format", self.format_box), ("&Weights", self.type_box))
        rows.addRow(label_of(self.path_edit, "&Place"), row((self.path_edit, 1), self.browse_button))
        parts = rows, self.preview, self.problem, self.bar, self.said, self.buttons
        column(*parts, of=self, margins=LARGE, spacing=MEDIUM)
        self.setMinimumWidth(WIDTH_PX)

    @property
    def _offer(self) -> ExportOffer:
        return self._offers[self.format_box.currentData()]

    @Slot()
    def _show_format(self) -> None:
        offer = self._offer
        self.type_box.blockSignals(True)
        self.type_box.clear()
        for kind in offer.bytes:
            self.type_box.addItem(TYPE_TITLES.get(kind, kind), kind)
        self.type_box.blockSignals(False)
        self.type_box.setEnabled(len(offer.bytes) > 1)
        folder = Path(self.path_edit.text()).parent if self.path_edit.text() else documents_folder()
        self.path_edit.setText(str(folder / offer.file_name))
        self._show_preview()

    @Slot()
    def _show_preview(self) -> None:
        offer, kind = self._offer, self.type_box.currentData()
        obstacles = offer.obstacles[kind]
        self.problem.setVisible(bool(obstacles))
        if obstacles:
            self.problem.setText(f"This model cannot be written so: {'; '.join(obstacles)}.")
        what = "A folder" if offer.is_folder else "One file"
        self.preview.setText(
            f"{what} of about {file_size(offer.bytes[kind])}. It is read back and compared before it gets its name."
        )
        self.said.setText("")
        self.export_button.setEnabled(not obstacles and bool(self.path_edit.text().strip()))

    @Slot()
    def _browse(self) -> None:
        dialog = QFileDialog(self, "Folder to write into", str(Path(self.path_edit.text()).parent))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._take_folder)
        dialog.open()

    @Slot(str)
    def _take_folder(self, folder: str) -> None:
        self.path_edit.setText(str(Path(folder) / self._offer.file_name))
        self._show_preview()

    @Slot()
    def _begin(self) -> None:
        self._ask(False)

    @Slot()
    def _replace(self) -> None:
        self._ask(True)

    def _ask(self, replace: bool) -> None:
        self.problem.hide()
        self.said.setText("")
        self._set_working(True)
        path = Path(self.path_edit.text().strip()).expanduser()
        self.export_requested.emit(self._offer.name, self.type_box.currentData(), path, replace)

    def _set_working(self, works: bool) -> None:
        self._works = works
        self.bar.setRange(0, 0)
        self.bar.setVisible(works)
        for field in (self.format_box, self.path_edit, self.browse_button, self.export_button):
            field.setEnabled(not works)
        self.type_box.setEnabled(not works and self.type_box.count() > 1)
        close = self.buttons.button(QDialogButtonBox.StandardButton.Close)
        close.setText("&Stop" if works else "&Close")


def documents_folder() -> Path:
    """Where a user keeps what is theirs."""
    return Path(
        QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation) or Path.home()
    )
