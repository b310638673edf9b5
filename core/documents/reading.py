"""A source to a `Document`: the reader is picked by what the file holds first, by its name second.

A reader is imported when the first file of its kind comes: their libraries take half a second together, and a worker
that meets nothing but text needs none of them.
"""

import time
from pathlib import Path, PurePath

from core.checksums import hash_file
from core.config.corpus import ImportConfig
from core.documents.archive import local_path, read_archive
from core.documents.document import PAGE_BREAK, Content, Document, PageText, Source
from core.documents.failures import failures_named
from core.documents.folders import ledger_path
from core.documents.kinds import kind_of_name
from core.documents.plain_text import decode_text
from core.documents.signatures import kind_of_content, kind_of_zip, refuse_binary, refuse_old_office
from core.documents.source_code import is_script
from core.errors import UnreadableDocumentError, UnsupportedDocumentError

MEBIBYTE = 1024 * 1024
HEAD_BYTES = 8192
PAGED = frozenset({"pdf", "image", "text"})  # a text may have form feeds, as those of the RFCs
# A file with such a name that holds something else is damaged, or an error page that was saved in its place.
PROMISING = frozenset({"pdf", "image", "docx", "odt", "epub", "archive", "database"})


def read_source(source: Source, config: ImportConfig) -> Document:
    """Read one file, or one member of an archive; without OCR, whose pages are listed in `Document.scans`.

    Raises:
        UnsupportedDocumentError: No reader for it: a binary, a folder, a device, too large, an archive in an archive.
        EncryptedDocumentError: It asks for a password, and the one that was given does not open it.
        UnreadableDocumentError: It is damaged, gone, or not what its name says.
    """
    ends_at = time.monotonic() + config.file_seconds
    with failures_named(source):
        _refuse_device(source.path)
        path = local_path(source, config)
        size = path.stat().st_size
        if size > config.file_mib * MEBIBYTE:
            raise UnsupportedDocumentError(path, f"it is larger than {config.file_mib:,} MiB")
        sha256 = hash_file(path)
        kind, content = _read(path, source, config, ends_at)
    text = content.text if kind in PAGED else content.text.replace(PAGE_BREAK, "\n")
    return Document(
        ledger_path(source),
        kind,
        sha256,
        _storable(text),
        text.count(PAGE_BREAK) + 1 if kind == "text" else content.pages,
        tuple(map(_storable, content.warnings)),
        _storable(content.note),
        content.scans,
        content.members,
        bytes=size,
    )


def recognize_page(source: Source, page: int, config: ImportConfig) -> PageText:
    """One page of a PDF, or one frame of an image, by OCR. Pages count from 1.

    Raises:
        PageNotReadError: It could not be recognised, or not in time.
        OcrUnavailableError: Tesseract or one of the languages is not installed.
        UnreadableDocumentError: The file is damaged or gone.
    """
    with failures_named(source):
        path = local_path(source, config)
        if kind_of_content(_head(path), kind_of_name(source.name)) == "image":
            from core.documents.image import recognize_frame

            return recognize_frame(path, page, config)
        from core.documents.pdf import recognize_pdf_page

        return recognize_pdf_page(path, page, config)


def _refuse_device(path: Path) -> None:
    """Check without opening it: opening a pipe would wait for ever."""
    if path.exists() and not path.is_file():
        raise UnsupportedDocumentError(path, "it is not a regular file")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def _read(path: Path, source: Source, config: ImportConfig, ends_at: float) -> tuple[str, Content]:
    """The file's kind and what its reader found."""
    promised = kind_of_name(source.name)
    head = _head(path)
    match kind_of_content(head, promised):
        case "pdf":
            from core.documents.pdf import read_pdf

            return "pdf", read_pdf(path, config, ends_at)
        case "image":
            from core.documents.image import read_image

            return "image", read_image(path, config)
        case "database":
            from core.documents.database_file import read_database

            return "database", read_database(path, config, ends_at)
        case "zip":
            return _read_zip(path, source, config)
        case "office":
            refuse_old_office(path)
    if promised in PROMISING:
        raise UnreadableDocumentError(
            path, "its content is not what its name says" if head else "it is empty"
        )
    refuse_binary(path, head)
    return _read_text(path, source, promised, config)


def _read_zip(path: Path, source: Source, config: ImportConfig) -> tuple[str, Content]:
    match kind := kind_of_zip(path, config):
        case "docx":
            from core.documents.word import read_word

            return kind, read_word(path, config)
        case "odt":
            from core.documents.opendocument import read_opendocument

            return kind, read_opendocument(path, config)
        case "epub":
            from core.documents.epub import read_epub

            return kind, read_epub(path, config)
    if source.member:
        raise UnsupportedDocumentError(path, "it is an archive inside an archive")
    return kind, read_archive(path, config)


def _read_text(path: Path, source: Source, kind: str, config: ImportConfig) -> tuple[str, Content]:
    if kind == "json":
        return _read_json(path, source, config)
    data = path.read_bytes()
    refuse_binary(path, data)
    text, warnings = decode_text(data)
    if kind == "html" or (not kind and "<" in text[:HEAD_BYTES]):
        from core.documents.web_page import is_web_page, read_web_page

        if kind or is_web_page(text):
            return "html", read_web_page(data)
    if kind:
        return kind, Content(text, warnings=warnings)
    if is_script(text):
        return "code", Content(text, warnings=warnings)
    if text.lstrip()[:1] in ("{", "["):
        from core.documents.json_records import is_json

        if is_json(text):
            return _read_json(path, source, config)
    return "text", Content(text, warnings=warnings)


def _read_json(path: Path, source: Source, config: ImportConfig) -> tuple[str, Content]:
    from core.documents.json_records import read_json

    content = read_json(path, PurePath(source.name).suffix.lower(), config)
    return content.kind, content


def _storable(text: str) -> str:
    """`text` without lone surrogates, which JSON can spell and no file or database can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
