"""How files are to be read: the two settings that a user changes from one import to the next."""

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QWidget

from app.widgets.theme import LARGE, SMALL
from core.config.corpus import ImportConfig
from core.config.setting import Setting, describe

_LANGUAGES_WIDTH_PX = 96


class ReadingSettings(QWidget):
    """OCR mode and languages, with labels, help and choices as the config declares them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        settings = {setting.name: setting for setting in describe(ImportConfig)}
        self.ocr_box = QComboBox(objectName="ocrBox")
        self.ocr_box.addItems(settings["ocr"].choices)
        self.ocr_box.setCurrentText(settings["ocr"].default)
        self.languages_edit = QLineEdit(settings["languages"].default, objectName="languagesEdit")
        self.languages_edit.setFixedWidth(_LANGUAGES_WIDTH_PX)
        self.languages_edit.setAcceptDrops(False)  # a drop on it is meant for the page
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(SMALL)
        self._add("&OCR", settings["ocr"], self.ocr_box)
        self._row.addSpacing(LARGE - SMALL)
        self._add("&Languages", settings["languages"], self.languages_edit)

    def config(self) -> ImportConfig:
        """The settings for the next import."""
        languages = self.languages_edit.text().strip() or ImportConfig().languages
        return ImportConfig(ocr=self.ocr_box.currentText(), languages=languages)

    def _add(self, title: str, setting: Setting, field: QWidget) -> None:
        label = QLabel(title, toolTip=setting.help)
        label.setBuddy(field)
        field.setToolTip(setting.help)
        field.setAccessibleName(setting.title)
        self._row.addWidget(label)
        self._row.addWidget(field)
