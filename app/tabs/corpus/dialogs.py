"""What is asked before files are read again: their password, or which of their fields are text."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QLineEdit, QVBoxLayout, QWidget

from app.widgets.controls import scrolled
from app.widgets.label import Label, without_mnemonic
from app.widgets.theme import LARGE, MEDIUM, SMALL, TINY, set_role
from core.tasks.reading_choices import TextField
from core.wording import counted

_WIDTH_PX = 460
_LONGEST_EXAMPLE = 120


class PasswordDialog(QDialog):
    """Asks for the password of some files.

    Signals:
        given: The paths, and the password.
    """

    given = Signal(list, str)

    def __init__(self, paths: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent, objectName="passwordDialog")
        self._paths = list(paths)
        self.setWindowTitle("Give password")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        files = counted(len(paths), "locked file") if len(paths) > 1 else "the locked file"
        self.edit = QLineEdit(objectName="passwordEdit", echoMode=QLineEdit.EchoMode.Password)
        self.edit.setAccessibleName("Password")
        self.edit.setToolTip("Used for this reading only, and never kept")
        self.edit.textChanged.connect(self._allow)
        self.buttons = _buttons(self, "Read")
        layout = _column(self)
        layout.addWidget(Label(f"Password for {files}:", buddy=self.edit))
        layout.addWidget(self.edit)
        layout.addWidget(_muted("It is used for this reading only, and never kept."))
        layout.addWidget(self.buttons)
        self.accepted.connect(self._give)
        self._allow()

    @Slot()
    def _allow(self) -> None:
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(bool(self.edit.text()))

    @Slot()
    def _give(self) -> None:
        self.given.emit(self._paths, self.edit.text())


class FieldsDialog(QDialog):
    """Asks which fields of a file of records hold text.

    Signals:
        given: The paths, and the names of the fields.
    """

    given = Signal(list, list)

    def __init__(
        self, paths: Sequence[str], fields: Sequence[TextField], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent, objectName="fieldsDialog")
        self._paths = list(paths)
        self.setWindowTitle("Choose text fields")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._names = [field.name for field in fields]
        self.boxes = [_field_box(field) for field in fields]
        self.buttons = _buttons(self, "Read")
        layout = _column(self)
        others = f" They hold for all {counted(len(paths), 'chosen file')}." if len(paths) > 1 else ""
        layout.addWidget(_muted(f"The ticked fields become the document's text, in this order.{others}"))
        layout.addWidget(scrolled(self._list(fields)), stretch=1)
        layout.addWidget(self.buttons)
        self.resize(_WIDTH_PX, 420)
        self.accepted.connect(self._give)
        for box in self.boxes:
            box.toggled.connect(self._allow)
        self._allow()

    def _list(self, fields: Sequence[TextField]) -> QWidget:
        panel = QWidget()
        column = QVBoxLayout(panel)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(TINY)
        for box, field in zip(self.boxes, fields, strict=True):
            column.addWidget(box)
            column.addWidget(_muted(_example(field)))
            column.addSpacing(SMALL)
        column.addStretch()
        return panel

    @Slot()
    def _allow(self) -> None:
        some = any(box.isChecked() for box in self.boxes)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(some)

    @Slot()
    def _give(self) -> None:
        chosen = [name for name, box in zip(self._names, self.boxes, strict=True) if box.isChecked()]
        self.given.emit(self._paths, chosen)


def _field_box(field: TextField) -> QCheckBox:
    box = QCheckBox(without_mnemonic(field.name), checked=field.chosen_by_default)
    box.setToolTip(f"Take {field.name} into the text")
    return box


def _example(field: TextField) -> str:
    example = " ".join(field.example.split())
    shown = f"{example[:_LONGEST_EXAMPLE]}…" if len(example) > _LONGEST_EXAMPLE else example
    mean = counted(round(field.mean_characters), "character")
    return f"“{shown}”  {mean} per record on average"


def _muted(text: str) -> Label:
    label = Label(text, wordWrap=True)
    set_role(label, "muted")
    return label


def _column(dialog: QDialog) -> QVBoxLayout:
    dialog.setMinimumWidth(_WIDTH_PX)
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
    layout.setSpacing(MEDIUM)
    return layout


def _buttons(dialog: QDialog, accept: str) -> QDialogButtonBox:
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
    buttons.button(QDialogButtonBox.StandardButton.Ok).setText(accept)
    buttons.accepted.connect(dialog.accept)
    buttons.rejected.connect(dialog.reject)
    return buttons
