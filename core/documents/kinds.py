"""What a file's name says it is. Its content has the last word: see `reading`."""

from pathlib import PurePath

from core.documents.source_code import is_source_code

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})
IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".jpe", ".gif", ".bmp", ".tif", ".tiff", ".webp"})


def kind_of_name(name: str) -> str:
    """ "pdf", "image", "markdown", "code", or "" where the name alone does not tell."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".pdf":
        return "pdf"
    if suffix in IMAGE_SUFFIXES:
        return "image"
    if suffix in MARKDOWN_SUFFIXES:
        return "markdown"
    return "code" if is_source_code(name) else ""
