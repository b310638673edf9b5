"""The kinds of documents, and which of them a file's name promises. Its content has the last word: see `reading`."""

import re
from pathlib import PurePath

from core.documents.source_code import is_name_of_code, is_source_code

KINDS = {
    "text": "Text",
    "markdown": "Markdown",
    "rst": "reStructuredText",
    "csv": "Table",
    "log": "Log",
    "code": "Source code",
    "json": "JSON",
    "html": "Web page",
    "epub": "E-book",
    "docx": "Word",
    "odt": "OpenDocument",
    "database": "Database",
    "pdf": "PDF",
    "image": "Image",
    "conversation": "Conversations",
    "archive": "Archive",
}
SUFFIXES = {
    "text": ".txt .text .eml",
    "markdown": ".md .markdown .mdown .mkd",
    "rst": ".rst .rest",
    "csv": ".csv .tsv .tab",
    "log": ".log .kmsg .dmesg .weechatlog",
    "json": ".json .jsonl .ndjson .geojson .jsonld .ipynb",
    "html": ".html .htm .xhtml .xht",
    "epub": ".epub",
    "docx": ".docx .docm .dotx .dotm",
    "odt": ".odt .ott",
    "database": ".sqlite .sqlite3 .db3 .s3db",
    "pdf": ".pdf",
    "image": ".png .jpg .jpeg .jpe .gif .bmp .tif .tiff .webp",
    "archive": ".zip",
}
_KIND_OF_SUFFIX = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
_ROTATED_LOG = re.compile(r"\.log\.\d+$", re.IGNORECASE)


def kind_of_name(name: str) -> str:
    """One of `KINDS`, or "" where the name alone does not say."""
    if is_name_of_code(name):
        return "code"
    kind = _KIND_OF_SUFFIX.get(PurePath(name).suffix.lower(), "")
    if kind:
        return kind
    if _ROTATED_LOG.search(name):
        return "log"
    return "code" if is_source_code(name) else ""
