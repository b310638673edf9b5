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
    password: str = setting(
        "", "Password", "Tried on files that are locked, after an empty one. Never kept.", secret=True
    )
    text_fields: tuple[str, ...] = setting(
        (),
        "Text fields",
        "Which fields of JSON records (`body`, `post.text`) and columns of databases (`articles.body`) are text. "
        "Where none is named, they are found.",
    )
    file_seconds: int = setting(
        120,
        "Time per file",
        "A file that takes longer is given up; OCR has a time of its own.",
        unit="seconds",
        ge=1,
        le=3600,
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
    archive_files: int = setting(
        50_000, "Files in an archive", "Archives with more are refused.", unit="files", ge=1, le=1_000_000
    )
    archive_mib: int = setting(
        4096, "Archive unpacked", "Archives that hold more are refused.", unit="MiB", ge=1, le=1_048_576
    )
    archive_ratio: int = setting(
        200,
        "Archive ratio",
        "An archive that is packed tighter is taken for a bomb and refused.",
        unit="to 1",
        ge=2,
        le=10_000,
    )


class CleaningConfig(Config):
    """What is done to a document's text on its way out of the library. The library keeps it as it was read."""

    unicode_nfc: bool = setting(True, "Unicode NFC", "A letter and the accent after it become one character.")
    ligatures: bool = setting(True, "Split ligatures", "The one sign ﬁ becomes the two letters fi.")
    hyphenation: bool = setting(
        True, "Join broken words", "A word that was hyphenated at the end of a line becomes whole."
    )
    headers_footers: bool = setting(
        True,
        "Drop headers and footers",
        "Lines at the top or bottom of pages that repeat across the document go, and so do page numbers.",
    )
    control_characters: bool = setting(
        True, "Drop control characters", "Signs that no font shows go; tabs and line ends stay."
    )
    blank_lines: bool = setting(
        True,
        "Fold blank lines",
        "Uniform line ends, no spaces at the end of lines of prose, one blank line at most.",
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
