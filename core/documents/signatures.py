"""What a file's first bytes say it is, whatever its name."""

import mmap
import re
from pathlib import Path
from typing import NoReturn
from zipfile import ZipFile, is_zipfile

from core.config.corpus import ImportConfig
from core.documents.plain_text import is_binary
from core.documents.zip_file import package, part
from core.errors import SealedDocumentError, UnreadableDocumentError, UnsupportedDocumentError

PDF = b"%PDF-"
PDF_HEAD_BYTES = 1024  # a PDF may begin with so much of something else, or have lost its first line
IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\x00", b"MM\x00*")
ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
DATABASE = b"SQLite format 3\x00"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # a stream in the directory of a locked .docx
RICH_TEXT = b"{\\rtf"
TAR = slice(257, 262)

OTHERS = {
    b"\x1f\x8b": "it is a compressed archive",
    b"BZh": "it is a compressed archive",
    b"\xfd7zXZ": "it is a compressed archive",
    b"(\xb5/\xfd": "it is a compressed archive",
    b"7z\xbc\xaf": "it is a compressed archive",
    b"Rar!": "it is a compressed archive",
    b"\x7fELF": "it is a program",
    b"MZ": "it is a program",
    b"\xca\xfe\xba\xbe": "it is a program",
    b"\xcf\xfa\xed\xfe": "it is a program",
    b"\x00asm": "it is a program",
    b"ID3": "it is sound or video",
    b"OggS": "it is sound or video",
    b"RIFF": "it is sound or video",
    b"fLaC": "it is sound or video",
    b"\x1aE\xdf\xa3": "it is sound or video",
    b"wOFF": "it is a font",
    b"wOF2": "it is a font",
    b"OTTO": "it is a font",
}
_PDF_LATE = re.compile(rb"%PDF-|\b\d+ \d+ obj\b")
MOST_MIME_BYTES = 256
OFFICE_MIMES = "application/vnd.oasis.opendocument."
TEXT_MIMES = tuple(f"{OFFICE_MIMES}text{ending}" for ending in ("", "-template", "-master", "-web"))


def kind_of_content(head: bytes, kind: str) -> str:
    """ "pdf", "image", "zip", "database", "office" or "" for all else.

    Args:
        head: The file's first bytes, 1024 of them at least.
        kind: What the file's name promises; a PDF by name is searched for where its head begins.
    """
    if head.startswith(PDF) or (kind == "pdf" and _PDF_LATE.search(head, 0, PDF_HEAD_BYTES)):
        return "pdf"
    if _is_image(head):
        return "image"
    if head.startswith(ZIP):
        return "zip"
    if head.startswith(DATABASE):
        return "database"
    return "office" if head.startswith(OLD_OFFICE) else ""


def kind_of_zip(path: Path, config: ImportConfig) -> str:
    """ "docx", "odt", "epub" or "archive".

    Raises:
        UnsupportedDocumentError: It is an office document without prose, or over a limit on archives.
        UnreadableDocumentError: It is damaged.
    """
    if not is_zipfile(path):
        raise UnreadableDocumentError(path, "it is damaged: its end is missing")
    with package(path, config) as file:
        mime = _mime(path, file, config)
        if mime == "application/epub+zip" or "META-INF/container.xml" in file.NameToInfo:
            return "epub"
        if mime in TEXT_MIMES:
            return "odt"
        if mime.startswith(OFFICE_MIMES):
            raise UnsupportedDocumentError(path, "it is a table, a drawing or a presentation, not a text")
        return _kind_of_office(path, file)


def refuse_old_office(path: Path) -> NoReturn:
    """Raise: the container is that of Word 97, and of every office document with a password."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        locked = data.find(ENCRYPTED_PACKAGE) >= 0
    if locked:
        raise SealedDocumentError(path)
    raise UnsupportedDocumentError(path, "it is an office document of the old binary kind")


def refuse_binary(path: Path, data: bytes) -> None:
    """Check that `data` can be read as text.

    Raises:
        UnsupportedDocumentError: It cannot.
    """
    if data.startswith(RICH_TEXT):
        raise UnsupportedDocumentError(path, "it is a document in Rich Text Format")
    if not is_binary(data) and data[TAR] != b"ustar":
        return
    known = (what for magic, what in OTHERS.items() if data.startswith(magic))
    other = "it is an archive" if data[TAR] == b"ustar" else "it is a binary file of an unknown kind"
    raise UnsupportedDocumentError(path, next(known, other))


def _is_image(head: bytes) -> bool:
    if head.startswith(
        b"BM"
    ):  # two letters that a text may begin with, so a bitmap's zeros are looked for too
        return head[6:10] == bytes(4)
    return head.startswith(IMAGES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _mime(path: Path, file: ZipFile, config: ImportConfig) -> str:
    """What the entry says that e-books and OpenDocument files begin with; "" where there is none."""
    entry = file.NameToInfo.get("mimetype")
    if entry is None or entry.file_size > MOST_MIME_BYTES:
        return ""
    return part(path, file, "mimetype", config).decode("ascii", "replace").strip()


def _kind_of_office(path: Path, file: ZipFile) -> str:
    if "[Content_Types].xml" not in file.NameToInfo:
        return "archive"
    folders = {name.partition("/")[0] for name in file.NameToInfo}
    if "word" in folders:
        return "docx"
    if "xl" in folders:
        raise UnsupportedDocumentError(path, "it is an Excel workbook")
    if "ppt" in folders:
        raise UnsupportedDocumentError(path, "it is a PowerPoint presentation")
    return "archive"
