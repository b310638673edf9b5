"""Clean text: pure functions, each of which changes nothing when it is used again on its own result."""

import re
import unicodedata

KEEPS_TRAILING_SPACES = frozenset({"code", "markdown", "conversation"})  # in Markdown, two of them end a line

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"(?m)^(?:[ \t]*\n){2,}")
_TRAILING_SPACES = re.compile(r"(?m)(?<![ \t])[ \t]+$")


def normalize(text: str, kind: str) -> str:
    """The clean form of a document's text: NFC, uniform line ends, no control characters, no runs of blank lines.

    Indentation is never touched; spaces at the end of a line stay where they may mean something.

    Args:
        kind: The document's, such as "code" or "pdf".
    """
    text = compose(unify_line_ends(drop_control_characters(text)))
    if kind not in KEEPS_TRAILING_SPACES:
        text = drop_trailing_spaces(text)
    return fold_blank_lines(text)


def drop_control_characters(text: str) -> str:
    """Without the characters that no font shows, but with tabs and everything that ends a line."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub("", text)


def unify_line_ends(text: str) -> str:
    """Every line ends with a line feed, whatever system, form feed or separator ended it before."""
    return _LINE_END.sub("\n", text)


def compose(text: str) -> str:
    """Unicode NFC: an e and the accent after it become one character."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def drop_trailing_spaces(text: str) -> str:
    """Without spaces and tabs at the end of lines."""
    return _TRAILING_SPACES.sub("", text)


def fold_blank_lines(text: str) -> str:
    """With one blank line where several followed each other."""
    return _BLANK_LINES.sub("\n", text)
