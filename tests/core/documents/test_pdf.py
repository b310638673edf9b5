import pytest
from pypdf import PdfReader, PdfWriter

from core.config.corpus import ImportConfig
from core.documents import pdf
from core.documents.ocr import PageNotReadError, PageText, Recognizer
from core.documents.pdf import clean_layer
from core.documents.pdf_repair import with_new_table
from core.documents.reading import read_document
from core.errors import EncryptedDocumentError, OcrUnavailableError, UnreadableDocumentError


def reads_as(page_text):
    """A stand-in for Tesseract that reads this on every page."""

    def read(self, page):
        return page_text

    return read


def missing(config, ends_at):
    raise OcrUnavailableError("Tesseract is not installed", "Install it.")


def encrypt(path, **passwords):
    writer = PdfWriter(clone_from=path)
    writer.encrypt(**passwords, algorithm="RC4-128")
    with path.open("wb") as file:
        writer.write(file)
    return path


def test_the_text_layer_is_read_page_by_page(write_pdf, no_ocr):
    document = read_document(write_pdf("First page", "Second page"), no_ocr)
    assert (document.kind, document.text, document.pages) == ("pdf", "First page\n\nSecond page", 2)
    assert (document.warnings, document.confidence) == ((), -1)


def test_a_page_without_text_is_recognised(tmp_path, picture):
    picture("The meadow sleeps", (1240, 700)).save(tmp_path / "scan.pdf", resolution=150)
    document = read_document(tmp_path / "scan.pdf", ImportConfig())
    assert document.text == "The meadow sleeps"
    assert document.confidence > 60


def test_only_pages_without_text_are_recognised(write_pdf, monkeypatch):
    monkeypatch.setattr(Recognizer, "read", reads_as(PageText("from a scan", (90.0, 70.0))))
    document = read_document(write_pdf("from the layer", ""), ImportConfig())
    assert document.text == "from the layer\n\nfrom a scan"
    assert document.confidence == 80


def test_forced_ocr_reads_every_page_as_a_picture(write_pdf, monkeypatch):
    monkeypatch.setattr(Recognizer, "read", reads_as(PageText("from a scan", (90.0,))))
    document = read_document(write_pdf("from the layer"), ImportConfig(ocr="force"))
    assert document.text == "from a scan"


def test_a_page_that_forced_ocr_cannot_read_keeps_its_layer(write_pdf, monkeypatch):
    def late(self, page):
        raise PageNotReadError

    monkeypatch.setattr(Recognizer, "read", late)
    document = read_document(write_pdf("from the layer"), ImportConfig(ocr="force"))
    assert document.text == "from the layer"
    assert document.warnings == ("Page 1 was not recognised in time.",)


def test_without_ocr_the_pages_without_text_are_named(write_pdf, no_ocr):
    document = read_document(write_pdf("text", "", "text", ""), no_ocr)
    assert document.warnings == ("Pages 2 and 4 have no text, and OCR is off.",)


def test_without_tesseract_the_pages_with_text_are_read(write_pdf, monkeypatch):
    monkeypatch.setattr(pdf, "open_recognizer", missing)
    document = read_document(write_pdf("text", ""), ImportConfig())
    assert document.text == "text"
    assert document.warnings == ("Page 2 has no text, and Tesseract is not ready.",)
    assert document.ocr_notice == "Scanned pages cannot be read: Tesseract is not installed. Install it."


def test_without_tesseract_a_scan_is_refused_with_the_install_line(write_pdf, monkeypatch):
    monkeypatch.setattr(pdf, "open_recognizer", missing)
    with pytest.raises(OcrUnavailableError):
        read_document(write_pdf(""), ImportConfig())


def test_a_password_is_asked_for_by_name(write_pdf, no_ocr):
    path = encrypt(write_pdf("secret"), user_password="meadow")
    with pytest.raises(EncryptedDocumentError, match=r"paper\.pdf could not be read: it is locked"):
        read_document(path, no_ocr)


def test_an_empty_password_is_tried_first(write_pdf, no_ocr):
    path = encrypt(write_pdf("open to all"), user_password="", owner_password="owner")
    assert read_document(path, no_ocr).text == "open to all"


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(write_pdf, no_ocr):
    path = write_pdf(*[f"page {number}" for number in range(1, 9)])
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"(page 6)")])
    document = read_document(path, no_ocr)
    assert document.text.startswith("page 1\n\npage 2\n\npage 3")
    assert document.warnings[0] == "It is damaged: only pages 1-8 could be saved."


def test_pages_that_are_damaged_are_named(write_pdf, no_ocr):
    path = write_pdf("one", "two", "three")
    second = PdfReader(path).pages[1].indirect_reference.idnum
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\n%d 0 obj\n<<" % second, b"\n%d 0 obj\n[[" % second))
    document = read_document(path, no_ocr)
    assert document.text == "one\n\nthree"
    assert document.warnings == ("Page 2 is damaged and lost.",)


def test_locked_pages_are_not_saved_as_noise():
    assert with_new_table(b"1 0 obj\n<< /Type /Page >>\nendobj\ntrailer << /Encrypt 5 0 R >>") is None


def test_a_file_that_holds_nothing_after_its_first_line_is_damaged(tmp_path, no_ocr):
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7\nnothing that follows is PDF\n" * 3)
    with pytest.raises(UnreadableDocumentError, match="it is damaged"):
        read_document(tmp_path / "paper.pdf", no_ocr)


def test_a_file_without_pages_is_no_document_even_after_a_locked_one(write_pdf, tmp_path, no_ocr):
    with pytest.raises(EncryptedDocumentError):
        read_document(encrypt(write_pdf("secret", name="locked.pdf"), user_password="meadow"), no_ocr)
    with (tmp_path / "paper.pdf").open("wb") as file:
        PdfWriter().write(file)
    with pytest.raises(UnreadableDocumentError, match="it has no pages"):
        read_document(tmp_path / "paper.pdf", no_ocr)


def test_what_one_library_cannot_open_the_other_may_repair(write_pdf, no_ocr, monkeypatch):
    def refuse(path):
        raise pdf.PdfiumError("format", err_code=pdf.pdfium.FPDF_ERR_FORMAT)

    monkeypatch.setattr(pdf, "PdfDocument", refuse)
    document = read_document(write_pdf("First", "Second"), no_ocr)
    assert (document.text, document.pages) == ("First\n\nSecond", 2)
    assert document.warnings == ("It is damaged.",)


def test_a_word_that_was_broken_at_the_end_of_a_line_is_whole():
    assert (
        clean_layer("a gener\x02ation of well-\r\nread sheep \x02 two")
        == "a generation of well-\nread sheep - two"
    )
