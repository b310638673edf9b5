"""How files are to be read is chosen once, remembered, and never with a password."""

import pytest
from PySide6.QtWidgets import QDialogButtonBox, QLabel, QLineEdit

from app.tabs.corpus.controller import CorpusController
from app.tabs.corpus.reading_settings import ReadingSettings, read_config
from core.config.corpus import ImportConfig


@pytest.fixture
def reading(qtbot):
    reading = ReadingSettings()
    qtbot.addWidget(reading)
    return reading


def test_the_config_is_what_the_dialog_says(reading):
    reading.ocr_box.setCurrentText("off")
    reading.languages_edit.setText("eng+deu")
    reading.password_edit.setText("baa")
    assert reading.config() == ImportConfig(ocr="off", languages="eng+deu", password="baa")


def test_the_button_says_it_in_short(reading):
    reading.languages_edit.setText("deu")
    assert reading.text() == "OCR auto · deu"
    reading.ocr_box.setCurrentText("off")
    assert reading.text() == "OCR off"


def test_the_password_is_hidden(reading):
    assert reading.password_edit.echoMode() == QLineEdit.EchoMode.Password


def test_installed_languages_are_switched_on_and_off(reading):
    reading.show_languages(("deu", "eng", "fra"))
    assert reading.language("eng").isChecked()
    reading.language("fra").trigger()
    assert reading.config().languages == "eng+fra"
    reading.language("eng").trigger()
    assert reading.config().languages == "fra"


def test_a_typed_language_that_is_not_installed_stays(reading):
    reading.show_languages(("eng",))
    reading.languages_edit.setText("lat")
    reading.language("eng").trigger()
    assert reading.config().languages == "lat+eng"


def test_a_value_that_cannot_be_blocks_the_way_out_of_the_dialog(reading):
    ok = reading.dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Ok)
    seconds = reading.dialog.findChild(object, "import.file_seconds")
    seconds.show_value(0)
    assert not ok.isEnabled()
    seconds.show_value(60)
    assert ok.isEnabled()
    assert reading.config().file_seconds == 60


def test_a_click_opens_the_dialog(qtbot, reading):
    reading.click()
    assert reading.dialog.isVisible()
    reading.dialog.reject()


def test_without_tesseract_the_dialog_says_how_to_install_it(reading):
    reading.show_missing_ocr("Tesseract is not installed. Run apt.")
    reading.click()
    told = [label.text() for label in reading.dialog.findChildren(QLabel) if label.isVisible()]
    assert "Tesseract is not installed. Run apt." in told
    reading.dialog.reject()


def test_the_choice_is_remembered_but_for_the_password(qtbot, tab, workspace, queues, settings):
    CorpusController(tab, workspace, queues, settings, tab).begin()
    qtbot.waitUntil(queues.at_rest)
    tab.ledger.filters.reading.ocr_box.setCurrentText("force")
    tab.ledger.filters.reading.password_edit.setText("baa")
    assert read_config(settings.reading) == ImportConfig(ocr="force")
    assert "baa" not in settings.reading


@pytest.mark.parametrize("stored", ["", "{", '{"ocr": "sometimes"}', '{"gone": 1}'])
def test_a_choice_that_is_none_any_more_gives_the_defaults(stored):
    assert read_config(stored) == ImportConfig()
