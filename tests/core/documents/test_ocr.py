import dataclasses
import shutil
import time

import pytesseract
import pytest
from PIL import Image

from core.documents import ocr
from core.documents.document import PageText
from core.documents.ocr import (
    PageNotReadError,
    installed_languages,
    missing_languages,
    open_recognizer,
    read_table,
)
from core.errors.base import OcrUnavailableError

HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    open_recognizer.cache_clear()


def word(block, paragraph, line, percent, text):
    return f"5\t1\t{block}\t{paragraph}\t{line}\t1\t0\t0\t9\t9\t{percent}\t{text}\n"


def soon():
    return time.monotonic() + 60


def test_a_table_of_words_becomes_lines_and_paragraphs():
    table = HEAD + "2\t1\t1\t0\t0\t0\t0\t0\t9\t9\t-1\t\n"
    table += word(1, 1, 1, 96.5, "one") + word(1, 1, 1, 90, "two") + word(1, 1, 2, 90, "three")
    table += word(1, 2, 1, 83.5, "four") + word(2, 1, 1, 95, " ") + word(3, 1, 1, 90, 'a\t"five')
    assert read_table(table) == PageText('one two\nthree\n\nfour\n\na\t"five', 90.0, 5)


def test_a_page_without_words_has_none():
    assert read_table(HEAD) == PageText("", 0.0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [90, 180])
def test_a_page_on_its_side_is_read(picture, degrees):
    line = "Clover lives in the mill and sleeps there"
    page = Image.new("L", (1400, 900), "white")
    for top in range(0, 750, 75):
        page.paste(picture(line, (1400, 75 + 50)).convert("L").crop((0, 50, 1400, 125)), (0, top))
    turned = page.rotate(degrees, expand=True)
    assert line in open_recognizer("eng").read(turned, soon()).text


def test_a_picture_that_is_too_wide_for_tesseract_is_made_smaller(picture):
    wide = picture("Clover lives in the mill", (33_000, 160))
    assert open_recognizer("eng").read(wide, soon()).text == "Clover lives in the mill"


def test_a_page_that_takes_too_long_is_given_up(picture):
    with pytest.raises(PageNotReadError, match="no time left"):
        open_recognizer("eng").read(picture("Clover"), time.monotonic() + 0.001)


def test_no_page_is_begun_when_its_time_is_over(picture):
    with pytest.raises(PageNotReadError, match="no time left"):
        open_recognizer("eng").read(picture("Clover"), 0)


def test_a_page_on_which_tesseract_fails_says_so(picture):
    broken = dataclasses.replace(open_recognizer("eng"), languages="xyz")
    with pytest.raises(PageNotReadError, match="Tesseract failed"):
        broken.read(picture("Clover"), soon())


def test_the_installed_languages_are_listed():
    assert "eng" in installed_languages()
    assert "osd" not in installed_languages()


def test_tesseract_is_looked_for_once(monkeypatch):
    open_recognizer("eng")
    monkeypatch.setenv("PATH", "")
    assert open_recognizer("eng").languages == "eng"


def test_a_missing_language_is_named_with_its_install_line(monkeypatch):
    monkeypatch.setattr(ocr, "_package_manager", lambda: "apt-get")
    with pytest.raises(OcrUnavailableError, match="'xyz' is not installed") as caught:
        open_recognizer("eng+xyz")
    assert "sudo apt-get install tesseract-ocr-xyz" in caught.value.remedy


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "pacman", "zypper", "brew", "winget", ""])
def test_without_tesseract_the_install_line_fits_the_system(monkeypatch, manager):
    monkeypatch.setattr(shutil, "which", lambda name: name if name == manager else None)
    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", "no-such-program")
    platform = {"brew": "darwin", "winget": "win32"}.get(manager, "linux")
    monkeypatch.setattr(ocr.sys, "platform", platform)
    with pytest.raises(OcrUnavailableError, match="Tesseract is not installed") as caught:
        open_recognizer("eng")
    assert f"{manager} install" in caught.value.remedy or manager in ("", "pacman")
    assert "import again" in caught.value.remedy


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "sudo apt-get install tesseract-ocr-deu tesseract-ocr-chi-sim"),
        ("brew", "brew install tesseract-lang"),
    ],
)
def test_all_missing_languages_are_named_with_one_install_line(monkeypatch, manager, command):
    monkeypatch.setattr(ocr, "_package_manager", lambda: manager)
    told = missing_languages("deu+eng+chi_sim", ("eng",))
    assert told == f"Not installed for Tesseract: deu, chi_sim. Install with `{command}`."


@pytest.mark.parametrize("languages", ["deu;reboot", "$(reboot)"])
def test_what_is_no_name_of_a_language_stands_in_no_install_line(monkeypatch, languages):
    monkeypatch.setattr(ocr, "_package_manager", lambda: "apt-get")
    assert "sudo" not in missing_languages(languages, ("eng",))


def test_installed_languages_need_no_sentence():
    assert missing_languages("eng+", ("deu", "eng")) == ""
