"""PDF to text: the text layer where a page has one, Tesseract where it has none.

pypdfium2 reads the layer, because it is about eight times as fast as pypdf and reads the same words. What it
cannot open goes to `pdf_repair`.
"""

import math
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pypdfium2.raw as pdfium
from PIL import Image
from pypdfium2 import PdfDocument, PdfiumError, PdfPage

from core.config.corpus import ImportConfig
from core.documents.document import Content, name_numbers
from core.documents.ocr import (
    PageNotReadError,
    Recognizer,
    confidence_warning,
    mean_confidence,
    open_recognizer,
)
from core.documents.pdf_repair import ENCRYPTION, read_with_pypdf, with_new_table
from core.errors import EncryptedDocumentError, OcrUnavailableError, UnreadableDocumentError

OCR_DPI = 300
POINTS_PER_INCH = 72
MEGAPIXEL = 1_000_000

_BROKEN_WORD = re.compile(r"\x02(?=\w)")


def read_pdf(path: Path, config: ImportConfig, ends_at: float) -> Content:
    """The text of a PDF, page by page, an empty line between two pages.

    Pages that cannot be read are named in a warning.

    Args:
        ends_at: When the file's time is over, on `time.monotonic`'s clock; no page is recognised after that.

    Raises:
        EncryptedDocumentError: It asks for a password, and an empty one does not open it.
        UnreadableDocumentError: No page of it can be read.
        OcrUnavailableError: No page has text, and Tesseract or one of the languages is not installed.
    """
    try:
        document = PdfDocument(path)
    except PdfiumError as cause:
        data = path.read_bytes()
        # A file without pages leaves the error of the file before it standing, so the file itself is asked too.
        if cause.err_code == pdfium.FPDF_ERR_PASSWORD and ENCRYPTION in data:
            raise EncryptedDocumentError(path) from cause
        return _read_damaged(path, data, config, ends_at)
    with closing(document):
        return _PdfReading(path, document, config, ends_at).content()


def _read_damaged(path: Path, data: bytes, config: ImportConfig, ends_at: float) -> Content:
    repaired = with_new_table(data)
    try:
        document = PdfDocument(repaired or b"")
    except PdfiumError:
        return read_with_pypdf(path)
    with closing(document):
        content = _PdfReading(path, document, config, ends_at).content()
    warning = f"It is damaged: only {name_numbers('page', range(1, content.pages + 1))} could be saved."
    return replace(content, warnings=(warning, *content.warnings))


class _PdfReading:
    """One pass over the pages, and what it has met so far. Pages are numbered from 1."""

    def __init__(self, path: Path, document: PdfDocument, config: ImportConfig, ends_at: float) -> None:
        self._path, self._document, self._config, self._ends_at = path, document, config, ends_at
        self._recognizer: Recognizer | None = None
        self._unavailable: OcrUnavailableError | None = None
        self._texts: list[str] = []
        self._confidences: list[float] = []
        self._lost: list[int] = []
        self._unrecognized: list[int] = []
        self._unread: list[int] = []

    def content(self) -> Content:
        pages = len(self._document)
        for number in range(1, pages + 1):
            self._read_page(number)
        if len(self._lost) == pages:
            raise UnreadableDocumentError(self._path, "none of its pages could be read")
        text = "\n\n".join(text for text in self._texts if text)
        if self._unavailable and not text:
            raise self._unavailable
        confidence = mean_confidence(self._confidences)
        notice = f"{self._unavailable.message} {self._unavailable.remedy}" if self._unavailable else ""
        return Content(text, pages, self._warnings() + confidence_warning(confidence), confidence, notice)

    def _read_page(self, number: int) -> None:
        try:
            with closing(self._document[number - 1]) as page:
                text = _text_layer(page)
                if self._config.ocr == "force" or (not text and _has_marks(page)):
                    text = self._recognize(page, number) or text
        except PdfiumError:
            self._lost.append(number)
        else:
            self._texts.append(text)

    def _recognize(self, page: PdfPage, number: int) -> str:
        """The page's text by OCR; "" where that is off, not installed or failed."""
        if self._config.ocr == "off":
            self._unread.append(number)
            return ""
        try:
            read = self._open_recognizer().read(_picture(page, self._config.image_megapixels))
        except OcrUnavailableError as problem:
            self._unavailable = problem
            self._unread.append(number)
        except PageNotReadError:
            self._unrecognized.append(number)
        else:
            self._confidences += read.confidences
            return read.text
        return ""

    def _open_recognizer(self) -> Recognizer:
        if self._unavailable:
            raise self._unavailable
        if self._recognizer is None:
            self._recognizer = open_recognizer(self._config, self._ends_at)
        return self._recognizer

    def _warnings(self) -> tuple[str, ...]:
        why = "Tesseract is not ready" if self._unavailable else "OCR is off"
        reasons = (
            (self._lost, "is damaged and lost", "are damaged and lost"),
            (self._unrecognized, "was not recognised in time", "were not recognised in time"),
            (self._unread, f"has no text, and {why}", f"have no text, and {why}"),
        )
        return tuple(
            f"{name_numbers('page', pages).capitalize()} {one if len(pages) == 1 else many}."
            for pages, one, many in reasons
            if pages
        )


def _text_layer(page: PdfPage) -> str:
    with closing(page.get_textpage()) as layer:
        return clean_layer(layer.get_text_bounded())


def clean_layer(text: str) -> str:
    """A text layer without pypdfium2's own signs.

    It joins a word that was broken at a line's end, and leaves a sign where the hyphen was.
    """
    text = _BROKEN_WORD.sub("", text).replace("\x02", "-")
    return text.replace("\r\n", "\n").replace("\ufffe", "-").strip()


def _has_marks(page: PdfPage) -> bool:
    """True where anything is drawn on the page; an empty page need not be recognised."""
    return bool(pdfium.FPDFPage_CountObjects(page) > 0)


def _picture(page: PdfPage, megapixels: int) -> Image.Image:
    """The page at 300 dpi, or at as many as the limit on pixels leaves."""
    points = page.get_width() * page.get_height()
    scale = min(OCR_DPI / POINTS_PER_INCH, math.sqrt(megapixels * MEGAPIXEL / max(points, 1)))
    with closing(page.render(scale=scale, grayscale=True)) as bitmap:
        return bitmap.to_pil().copy()  # type: ignore[no-any-return]  # Pillow's image, from an untyped library
