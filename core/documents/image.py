"""Images to text. Every frame of a GIF or TIFF is a page; a camera's rotation is undone before reading."""

import struct
from pathlib import Path

from PIL import Image, ImageOps, ImageSequence

from core.config.corpus import ImportConfig
from core.documents.document import Content, name_numbers
from core.documents.ocr import (
    PageNotReadError,
    Recognizer,
    confidence_warning,
    mean_confidence,
    open_recognizer,
)
from core.errors import UnreadableDocumentError, UnsupportedDocumentError

MEGAPIXEL = 1_000_000
# What Pillow lets through on damaged files, beside its own errors.
DAMAGE = (OSError, SyntaxError, ValueError, EOFError, struct.error, IndexError, TypeError)


def read_image(path: Path, config: ImportConfig, ends_at: float) -> Content:
    """The text that Tesseract finds in the image.

    Args:
        ends_at: When the file's time is over, on `time.monotonic`'s clock; frames after that are left out.

    Raises:
        UnsupportedDocumentError: OCR is off, or the image has more pixels than it may have.
        UnreadableDocumentError: The image is damaged.
        OcrUnavailableError: Tesseract or one of the languages is not installed.
    """
    if config.ocr == "off":
        raise UnsupportedDocumentError(path, "it is an image, and OCR is off")
    recognizer = open_recognizer(config, ends_at)
    Image.MAX_IMAGE_PIXELS = None  # the limit is ours, below: Pillow's own warns where nobody listens
    try:
        with Image.open(path) as image:
            _refuse_bomb(path, image, config)
            return _read_frames(path, image, recognizer, config)
    except DAMAGE as cause:
        raise UnreadableDocumentError(path, "it is damaged") from cause


def _read_frames(path: Path, image: Image.Image, recognizer: Recognizer, config: ImportConfig) -> Content:
    texts: list[str] = []
    confidences: list[float] = []
    lost: list[int] = []
    frames = 0
    try:
        for frames, frame in enumerate(ImageSequence.Iterator(image), start=1):
            _refuse_bomb(path, frame, config)
            try:
                page = recognizer.read(upright_page(frame))
            except PageNotReadError:
                lost.append(frames)
                continue
            texts.append(page.text)
            confidences += page.confidences
    except DAMAGE as cause:
        if not texts:
            raise UnreadableDocumentError(path, "it is damaged") from cause
        lost.append(frames + 1)
    if not texts:
        raise UnreadableDocumentError(path, "it was not recognised in time")
    confidence = mean_confidence(confidences)
    warnings = (f"Lost or left out: {name_numbers('page', lost)}.",) if lost else ()
    text = "\n\n".join(text for text in texts if text)
    return Content(text, max(frames, 1), warnings + confidence_warning(confidence), confidence)


def upright_page(frame: Image.Image) -> Image.Image:
    """A frame as it is meant to be looked at: turned as its camera says, on white where it is transparent."""
    frame = ImageOps.exif_transpose(frame)
    if not frame.has_transparency_data:
        return frame.convert("L")
    colours = frame.convert("RGBA")
    paper = Image.new("RGBA", colours.size, "white")
    return Image.alpha_composite(paper, colours).convert("L")


def _refuse_bomb(path: Path, image: Image.Image, config: ImportConfig) -> None:
    megapixels = image.width * image.height / MEGAPIXEL
    if megapixels > config.image_megapixels:
        raise UnsupportedDocumentError(
            path, f"it has {megapixels:,.0f} megapixels, and {config.image_megapixels:,} is the limit"
        )
