"""A file to a `Document`: the reader is picked by what the file holds first, by its name second."""

import hashlib
import re
import time
from pathlib import Path

from core.config.corpus import ImportConfig
from core.documents.conversation import read_conversations
from core.documents.document import Content, Document
from core.documents.image import read_image
from core.documents.kinds import kind_of_name
from core.documents.pdf import read_pdf
from core.documents.plain_text import decode_text, has_mark
from core.documents.source_code import is_script
from core.errors import UnreadableDocumentError, UnsupportedDocumentError

MEBIBYTE = 1024 * 1024
HEAD_BYTES = 8192
PDF_HEAD_BYTES = 1024  # a PDF may begin with so much of something else
MOST_CONTROL_CHARACTERS = 0.1  # of a text's first bytes

IMAGE_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*")
BINARY_MAGIC = {
    b"PK\x03\x04": "it is a ZIP archive, or an office document in one",
    b"\xd0\xcf\x11\xe0": "it is an office document of the old binary kind",
    b"\x1f\x8b": "it is a compressed archive",
    b"7z\xbc\xaf": "it is a compressed archive",
    b"SQLite format 3\x00": "it is a database",
    b"\x7fELF": "it is a program",
    b"MZ": "it is a program",
}

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def read_document(path: Path, config: ImportConfig) -> Document:
    """Read one file.

    Raises:
        UnsupportedDocumentError: No reader for it: a binary, a folder, a device, too large, or an image with OCR off.
        EncryptedDocumentError: It asks for a password.
        UnreadableDocumentError: It is damaged, gone, or not what its name says.
        OcrUnavailableError: It is a scan, and Tesseract or one of the languages is not installed.
    """
    ends_at = time.monotonic() + config.file_seconds
    try:
        size = _size_of_file(path)
        if size > config.file_mib * MEBIBYTE:
            raise UnsupportedDocumentError(path, f"it is larger than {config.file_mib:,} MiB")
        sha256 = hash_file(path)
        kind, content = _read(path, size, config, ends_at)
    except OSError as cause:
        raise UnreadableDocumentError(path, (cause.strerror or "it cannot be opened").lower()) from cause
    return Document(
        str(path),
        kind,
        sha256,
        _storable(content.text),
        content.pages,
        content.warnings,
        content.confidence,
        content.ocr_notice,
    )


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size_of_file(path: Path) -> int:
    """The file's size in bytes, known without opening it: opening a pipe would wait for ever."""
    if path.exists() and not path.is_file():
        raise UnsupportedDocumentError(path, "it is not a regular file")
    return path.stat().st_size


def _read(path: Path, size: int, config: ImportConfig, ends_at: float) -> tuple[str, Content]:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    kind = kind_of_name(path.name)
    if _is_image(head):
        return "image", read_image(path, config, ends_at)
    if head.startswith(b"%PDF-") or (kind == "pdf" and b"%PDF-" in head[:PDF_HEAD_BYTES]):
        return "pdf", read_pdf(path, config, ends_at)
    if kind in ("pdf", "image"):
        problem = "its content is not what its name says" if size else "it is empty"
        raise UnreadableDocumentError(path, problem)
    _refuse_binary(path, head)
    return _read_text(path, kind)


def _is_image(head: bytes) -> bool:
    if head.startswith(
        b"BM"
    ):  # two letters that a text may begin with, so a bitmap's zeros are looked for too
        return head[6:10] == bytes(4)
    return head.startswith(IMAGE_MAGIC) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _refuse_binary(path: Path, head: bytes) -> None:
    if has_mark(head):
        return
    for magic, what in BINARY_MAGIC.items():
        if head.startswith(magic) and (len(magic) > 2 or _CONTROL.search(head)):
            raise UnsupportedDocumentError(path, what)
    if b"\x00" in head or len(_CONTROL.findall(head)) > MOST_CONTROL_CHARACTERS * len(head):
        raise UnsupportedDocumentError(path, "it is a binary file of an unknown kind")


def _read_text(path: Path, kind: str) -> tuple[str, Content]:
    text, warnings = decode_text(path.read_bytes())
    if path.suffix.lower() == ".jsonl" and (conversations := read_conversations(text)):
        return "conversation", conversations
    if not kind and is_script(text):
        kind = "code"
    return kind or "text", Content(text, warnings=warnings)


def _storable(text: str) -> str:
    """`text` without lone surrogates, which JSON can spell and no file or database can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
