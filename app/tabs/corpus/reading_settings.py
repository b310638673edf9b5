"""How the next files are to be read: a button that says it in short, and a dialog behind it with all there is."""

from collections.abc import Sequence

from pydantic import ValidationError
from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.widgets.config_form import Fields, rows_of
from app.widgets.icons import give_icon
from app.widgets.label import Label
from app.widgets.theme import LARGE, MEDIUM, set_role
from core.config.corpus import ImportConfig
from core.errors import BadSettingError

ELSEWHERE = frozenset(("text_fields",))  # chosen for the files that have some, in the ledger
_WIDTH_PX = 460
_HINT = (
    "These hold for files that are added from now on. The password is tried on locked files and never kept."
)


class ReadingSettings(QToolButton):
    """The settings of an import, with labels, help and choices as the config declares them.

    Signals:
        changed: The settings are other ones now.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("importOptionsButton")
        self.setToolTip("How files are read: OCR, languages, password and limits")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        give_icon(self, "settings")
        self._fields = Fields(ImportConfig, "import", self)
        editors = {field.setting.name: field.editor for field in self._fields.all()}
        self.ocr_box, self.languages_edit = editors["ocr"], editors["languages"]
        self.ocr_box.setObjectName("ocrBox")
        self.languages_edit.setObjectName("languagesEdit")
        self.password_edit = editors["password"]
        self.password_edit.setEchoMode(QLineEdit.EchoMode.Password)
        self._languages = QMenu(self)
        self._open_languages = QAction(self, toolTip="Choose among the installed languages")
        self._open_languages.triggered.connect(self._show_languages)
        give_icon(self._open_languages, "chevron-down")
        self._missing_ocr = Label(wordWrap=True, visible=False)
        set_role(self._missing_ocr, "warning")
        self._buttons = QDialogButtonBox()
        self.dialog = self._make_dialog()
        self.clicked.connect(self.dialog.open)
        self._fields.changed.connect(self._follow)
        self._follow()

    def config(self) -> ImportConfig:
        """The settings for the next import; while a value cannot be, all of them as they are declared."""
        try:
            return self._fields.value()
        except BadSettingError:
            return ImportConfig()

    def show_config(self, config: ImportConfig) -> None:
        self._fields.set_value(config)

    def show_languages(self, languages: Sequence[str]) -> None:
        """Offer what Tesseract has here."""
        for language in languages:
            action = self._languages.addAction(language)
            action.setCheckable(True)
            action.toggled.connect(self._take_languages)
        self.languages_edit.addAction(self._open_languages, QLineEdit.ActionPosition.TrailingPosition)
        self._follow()

    def show_missing_ocr(self, sentence: str) -> None:
        """Say why no scan can be read here."""
        self._missing_ocr.setText(sentence)
        self._missing_ocr.show()

    def language(self, name: str) -> QAction:
        """The switch of an installed language."""
        return next(action for action in self._languages.actions() if action.text() == name)

    @Slot()
    def _show_languages(self) -> None:
        self._languages.popup(self.languages_edit.mapToGlobal(QPoint(0, self.languages_edit.height())))

    @Slot()
    def _take_languages(self) -> None:
        chosen = [action.text() for action in self._languages.actions() if action.isChecked()]
        known = {action.text() for action in self._languages.actions()}
        kept = [name for name in self._typed() if name in chosen or name not in known]
        self.languages_edit.setText("+".join([*kept, *(name for name in chosen if name not in kept)]))

    @Slot()
    def _follow(self) -> None:
        for action in self._languages.actions():
            with QSignalBlocker(action):
                action.setChecked(action.text() in self._typed())
        ocr = self.ocr_box.read()
        self.setText(f"OCR {ocr}" if ocr == "off" else f"OCR {ocr} · {self.languages_edit.text()}")
        self.setAccessibleName(f"Import options: {self.text()}")
        self._buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(not self._fields.problem())
        self.changed.emit()

    @Slot()
    def _restore_defaults(self) -> None:
        self._fields.set_value(ImportConfig())

    def _typed(self) -> list[str]:
        return [name for name in self.languages_edit.text().replace(" ", "").split("+") if name]

    def _make_dialog(self) -> QDialog:
        dialog = QDialog(self, objectName="importOptions")
        dialog.setWindowTitle("Import options")
        dialog.setMinimumWidth(_WIDTH_PX)
        hint = Label(_HINT, wordWrap=True)
        set_role(hint, "muted")
        self._buttons.setStandardButtons(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.RestoreDefaults
        )
        self._buttons.accepted.connect(dialog.accept)
        defaults = self._buttons.button(QDialogButtonBox.StandardButton.RestoreDefaults)
        defaults.clicked.connect(self._restore_defaults)
        layout = QVBoxLayout(dialog)
        layout.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        layout.setSpacing(MEDIUM)
        shown = rows_of(field for field in self._fields.all() if field.setting.name not in ELSEWHERE)
        for widget in (hint, self._missing_ocr, shown):
            layout.addWidget(widget)
        layout.addStretch()
        layout.addWidget(self._buttons)
        return dialog


def read_config(stored: str) -> ImportConfig:
    """The settings that an earlier start left, or the defaults where they are none any more."""
    try:
        return ImportConfig.model_validate_json(stored)
    except ValidationError:
        return ImportConfig()
