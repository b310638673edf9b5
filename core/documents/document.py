"""What a reader makes of a file: its text, where that came from, and what went wrong on the way."""

from collections.abc import Sequence
from dataclasses import dataclass

NO_OCR = -1.0


@dataclass(frozen=True, slots=True)
class Content:
    """What one reader found in one file.

    `confidence` is Tesseract's mean word confidence in percent, -1 where no OCR ran. `warnings` are sentences.
    `ocr_notice` is filled where pages were left out because Tesseract or a language of it is missing: what
    is missing and how to install it.
    """

    text: str
    pages: int = 1
    warnings: tuple[str, ...] = ()
    confidence: float = NO_OCR
    ocr_notice: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read.

    `kind` is "text", "markdown", "code", "pdf", "image" or "conversation"; `sha256` is of the file's bytes, in
    hexadecimal; the other fields are those of `Content`. `path` is the file's, as it was given.
    """

    path: str
    kind: str
    sha256: str
    text: str
    pages: int
    warnings: tuple[str, ...]
    confidence: float
    ocr_notice: str = ""


def name_numbers(noun: str, numbers: Sequence[int]) -> str:
    """Say which ones: `name_numbers("page", [2, 3, 4, 7])` is "pages 2-4 and 7". `numbers` ascend."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in spans]
    if len(parts) > 1:
        parts[-2:] = [f"{parts[-2]} and {parts[-1]}"]
    return f"{noun if len(numbers) == 1 else noun + 's'} {', '.join(parts)}"
