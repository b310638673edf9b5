"""Pictures of pages to text, by Tesseract.

Tesseract runs as a process of its own, one for each page. Who reads several files at once sets
`OMP_THREAD_LIMIT=1` for its workers, as `isolation` does: two of its threads on one page gain little, and cost
the page beside it a core.
"""

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytesseract
from PIL import Image
from pytesseract import TesseractError, TesseractNotFoundError

from core.config.corpus import ImportConfig
from core.errors import OcrUnavailableError

LOW_CONFIDENCE = 60.0
WORD_LEVEL = "5"  # in the first column of Tesseract's table
WINDOWS_PATH = Path(r"C:\Program Files\Tesseract-OCR\tesseract.exe")  # its installer leaves PATH alone
PACKAGE_MANAGERS = {
    "apt-get": "sudo apt-get install tesseract-ocr",
    "dnf": "sudo dnf install tesseract",
    "pacman": "sudo pacman -S tesseract",
    "zypper": "sudo zypper install tesseract-ocr",
    "brew": "brew install tesseract",
    "winget": "winget install UB-Mannheim.TesseractOCR",
}
LANGUAGE_PACKAGES = {
    "apt-get": "sudo apt-get install tesseract-ocr-{}",
    "dnf": "sudo dnf install tesseract-langpack-{}",
    "pacman": "sudo pacman -S tesseract-data-{}",
    "zypper": "sudo zypper install tesseract-ocr-traineddata-{}",
    "brew": "brew install tesseract-lang",
}


class PageNotReadError(Exception):
    """A page that Tesseract gave up, or was not given the time for. Never leaves this folder."""


class PageText(NamedTuple):
    """The text of one page, and the confidence of each word in it, in percent."""

    text: str
    confidences: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Recognizer:
    """Tesseract, ready to read pages in some languages.

    Args:
        languages: As Tesseract writes them, such as "eng+deu".
        page_seconds: The time limit of a page.
        ends_at: When the whole file's time is over, on `time.monotonic`'s clock.
    """

    languages: str
    page_seconds: float
    ends_at: float

    def read(self, page: Image.Image) -> PageText:
        """The text of one picture of a page.

        Raises:
            PageNotReadError: The page took longer than it may, or Tesseract failed on it.
        """
        seconds = min(self.page_seconds, self.ends_at - time.monotonic())
        if seconds <= 0:
            raise PageNotReadError
        try:
            text, table = pytesseract.run_and_get_multiple_output(
                page, ["txt", "tsv"], lang=self.languages, timeout=seconds
            )
        except (TesseractError, RuntimeError, UnicodeDecodeError) as cause:  # RuntimeError: out of time
            raise PageNotReadError from cause
        return PageText(text.strip(), tuple(_word_confidences(table)))


def open_recognizer(config: ImportConfig, ends_at: float) -> Recognizer:
    """Tesseract with the languages that the user chose.

    Raises:
        OcrUnavailableError: Tesseract or one of the languages is not installed.
    """
    installed = installed_languages()
    for language in config.languages.split("+"):
        if language not in installed:
            raise OcrUnavailableError(
                f"Tesseract's language {language!r} is not installed", _language_remedy(language, installed)
            )
    return Recognizer(config.languages, config.page_seconds, ends_at)


def installed_languages() -> tuple[str, ...]:
    """The languages that Tesseract can read here, such as ("deu", "eng").

    Raises:
        OcrUnavailableError: Tesseract is not installed.
    """
    if not shutil.which("tesseract") and WINDOWS_PATH.exists():
        pytesseract.pytesseract.tesseract_cmd = str(WINDOWS_PATH)
    try:
        languages = pytesseract.get_languages()
    except (TesseractNotFoundError, PermissionError) as cause:
        raise OcrUnavailableError("Tesseract is not installed", _install_remedy()) from cause
    return tuple(
        language for language in languages if language != "osd"
    )  # osd finds the direction, reads nothing


def mean_confidence(confidences: list[float]) -> float:
    """The mean over all words in percent; -1 where there are none."""
    return sum(confidences) / len(confidences) if confidences else -1.0


def confidence_warning(confidence: float) -> tuple[str, ...]:
    """A warning where Tesseract was not sure of what it read."""
    if 0 <= confidence < LOW_CONFIDENCE:
        return (f"The scan is hard to read: {confidence:.0f} % mean confidence.",)
    return ()


def _word_confidences(table: str) -> list[float]:
    rows = [line.split("\t", 11) for line in table.splitlines()[1:]]
    return [float(row[10]) for row in rows if len(row) == 12 and row[0] == WORD_LEVEL and row[11].strip()]


def _install_remedy() -> str:
    manager = _package_manager()
    if not manager:
        return "Install Tesseract (https://tesseract-ocr.github.io) and import again."
    return f"Install it with `{PACKAGE_MANAGERS[manager]}`, then import again."


def _language_remedy(language: str, installed: tuple[str, ...]) -> str:
    known = f"or choose from the installed ones: {', '.join(installed) or 'none'}."
    command = LANGUAGE_PACKAGES.get(_package_manager(), "")
    if not command or not language.replace("_", "").isalpha():
        return f"Install the language for Tesseract, {known}"
    return f"Install it with `{command.format(language.replace('_', '-'))}`, {known}"


def _package_manager() -> str:
    managers = ["winget"] if sys.platform == "win32" else ["brew"] if sys.platform == "darwin" else []
    candidates = managers or [name for name in PACKAGE_MANAGERS if name not in ("brew", "winget")]
    return next((name for name in candidates if shutil.which(name)), "")
