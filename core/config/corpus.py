"""What the user chooses about reading files, and about the text that a run is trained on."""

from typing import Literal

from core.config.setting import Config, setting


class ImportConfig(Config):
    """How files become documents."""

    ocr: Literal["auto", "force", "off"] = setting(
        "auto",
        "OCR",
        "auto reads images and PDF pages without text with Tesseract; force reads every PDF page so; off reads none.",
        advanced=False,
    )
    languages: str = setting(
        "eng", "OCR languages", "As Tesseract writes them, joined by a plus sign: eng+deu.", advanced=False
    )
    file_seconds: int = setting(
        120, "Time per file", "A file that takes longer is given up.", unit="seconds", ge=1, le=3600
    )
    page_seconds: int = setting(
        60, "OCR time per page", "A page that takes longer is left out.", unit="seconds", ge=1, le=3600
    )
    memory_mib: int = setting(
        2048, "Memory per reader", "A file that needs more is given up.", unit="MiB", ge=256, le=65536
    )
    file_mib: int = setting(
        512, "Largest file", "Larger files are listed but not read.", unit="MiB", ge=1, le=65536
    )
    image_megapixels: int = setting(
        200, "Largest image", "Larger images are refused unread.", unit="megapixels", ge=1, le=2000
    )


class CorpusConfig(Config):
    """How the library's documents become training and validation text."""

    validation_share: float = setting(
        0.1,
        "Validation share",
        "The part of the text that is kept from training, to measure with.",
        ge=0.001,
        le=0.5,
    )
    samples: Literal["documents", "lines"] = setting(
        "documents",
        "A sample is",
        "documents keeps each document whole, where order matters; lines ends every non-empty line with <eos>.",
    )
    normalize: bool = setting(
        True,
        "Clean text",
        "Unicode NFC, uniform line ends, no control characters, no runs of blank lines.",
    )
