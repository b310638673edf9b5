"""Files for readers to read, made by the tests."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from core.config.corpus import ImportConfig


@pytest.fixture
def no_ocr() -> ImportConfig:
    return ImportConfig(ocr="off")


@pytest.fixture
def picture() -> Callable[..., Image.Image]:
    """A white page with large black words on it."""

    def draw(words: str, size: tuple[int, int] = (900, 160)) -> Image.Image:
        image = Image.new("RGB", size, "white")
        ImageDraw.Draw(image).text((40, 50), words, fill="black", font=ImageFont.load_default(56))
        return image

    return draw


@pytest.fixture
def write_pdf(tmp_path: Path) -> Callable[..., Path]:
    """A PDF with a text layer; an empty string makes a page with a drawing and no text."""

    def write(*pages: str, name: str = "paper.pdf") -> Path:
        data = BytesIO()
        canvas = Canvas(data, pageCompression=0)
        for page in pages:
            if page:
                canvas.drawString(72, 720, page)
            else:
                canvas.rect(72, 72, 100, 100, fill=1)
            canvas.showPage()
        canvas.save()
        path = tmp_path / name
        path.write_bytes(data.getvalue())
        return path

    return write
