import shutil

import pytesseract
import pytest
from PIL import Image

from core.config.corpus import ImportConfig
from core.documents import image, ocr
from core.documents.image import upright_page
from core.documents.ocr import PageNotReadError, PageText, Recognizer, installed_languages
from core.documents.reading import read_document
from core.errors import OcrUnavailableError, UnreadableDocumentError, UnsupportedDocumentError

ORIENTATION = 0x0112


def fake_reading(monkeypatch, *answers):
    """Tesseract gives these answers, one a page."""
    waiting = list(answers)

    def read(self, page):
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Recognizer, "read", read)


def test_words_in_a_picture_become_text_with_a_confidence(tmp_path, picture):
    picture("Clover lives in the mill").save(tmp_path / "scan.png")
    document = read_document(tmp_path / "scan.png", ImportConfig())
    assert (document.kind, document.text, document.pages) == ("image", "Clover lives in the mill", 1)
    assert document.confidence > 60
    assert document.warnings == ()


def test_a_turned_photo_is_read_upright(tmp_path, picture):
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # the camera was held upright: turn by a quarter to look at it
    picture("Clover").transpose(Image.Transpose.ROTATE_90).save(tmp_path / "photo.jpg", exif=exif)
    assert read_document(tmp_path / "photo.jpg", ImportConfig()).text == "Clover"


@pytest.mark.parametrize("name", ["frames.gif", "frames.tiff"])
def test_every_frame_is_a_page(tmp_path, picture, monkeypatch, name):
    frames = [picture(words) for words in ("one", "two", "three")]
    frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
    fake_reading(monkeypatch, *(PageText(words, (90.0,)) for words in ("one", "two", "three")))
    document = read_document(tmp_path / name, ImportConfig())
    assert (document.text, document.pages) == ("one\n\ntwo\n\nthree", 3)


def test_frames_that_were_not_recognised_in_time_are_named(tmp_path, picture, monkeypatch):
    frames = [picture(words) for words in ("one", "two")]
    frames[0].save(tmp_path / "two.tiff", save_all=True, append_images=frames[1:])
    fake_reading(monkeypatch, PageText("one", (90.0,)), PageNotReadError())
    assert read_document(tmp_path / "two.tiff", ImportConfig()).warnings == ("Lost or left out: page 2.",)


def test_a_scan_that_is_hard_to_read_is_a_warning(tmp_path, picture, monkeypatch):
    picture("x").save(tmp_path / "scan.png")
    fake_reading(monkeypatch, PageText("smudge", (50.0, 31.0)))
    document = read_document(tmp_path / "scan.png", ImportConfig())
    assert document.confidence == 40.5
    assert document.warnings == ("The scan is hard to read: 40 % mean confidence.",)


def test_too_many_pixels_are_refused_before_they_are_unpacked(tmp_path):
    Image.new("1", (3000, 1000)).save(tmp_path / "bomb.png")
    with pytest.raises(UnsupportedDocumentError, match="3 megapixels, and 2 is the limit"):
        read_document(tmp_path / "bomb.png", ImportConfig(image_megapixels=2))


def test_a_truncated_image_is_damaged(tmp_path, picture):
    picture("Clover").save(tmp_path / "scan.png")
    data = (tmp_path / "scan.png").read_bytes()
    (tmp_path / "scan.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(UnreadableDocumentError, match="it is damaged"):
        read_document(tmp_path / "scan.png", ImportConfig())


def test_transparent_means_white():
    clear = Image.new("RGBA", (2, 2), (0, 0, 0, 0))
    assert upright_page(clear).getpixel((0, 0)) == 255


def test_a_page_that_takes_too_long_is_given_up(tmp_path, picture, monkeypatch):
    def hurry(config, ends_at):
        return Recognizer("eng", 0.001, ends_at)

    monkeypatch.setattr(image, "open_recognizer", hurry)
    picture("Clover").save(tmp_path / "scan.png")
    with pytest.raises(UnreadableDocumentError, match="not recognised in time"):
        read_document(tmp_path / "scan.png", ImportConfig())


def test_no_page_is_begun_when_the_files_time_is_over(picture):
    with pytest.raises(PageNotReadError):
        Recognizer("eng", page_seconds=60, ends_at=0).read(picture("Clover"))


def test_the_installed_languages_are_listed():
    assert "eng" in installed_languages()
    assert "osd" not in installed_languages()


def test_a_missing_language_is_named_with_its_install_line(tmp_path, picture, monkeypatch):
    monkeypatch.setattr(ocr, "_package_manager", lambda: "apt-get")
    picture("Clover").save(tmp_path / "scan.png")
    with pytest.raises(OcrUnavailableError, match="'xyz' is not installed") as caught:
        read_document(tmp_path / "scan.png", ImportConfig(languages="eng+xyz"))
    assert "sudo apt-get install tesseract-ocr-xyz" in caught.value.remedy


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "pacman", "zypper", "brew", "winget", ""])
def test_without_tesseract_the_install_line_fits_the_system(monkeypatch, manager):
    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", "no-such-program")
    monkeypatch.setattr(shutil, "which", lambda name: name if name == manager else None)
    platform = {"brew": "darwin", "winget": "win32"}.get(manager, "linux")
    monkeypatch.setattr(ocr.sys, "platform", platform)
    with pytest.raises(OcrUnavailableError, match="Tesseract is not installed") as caught:
        installed_languages()
    assert f"{manager} install" in caught.value.remedy or manager in ("", "pacman")
    assert "import again" in caught.value.remedy
