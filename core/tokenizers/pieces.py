"""Long texts in pieces that every tokenizer encodes as it would the whole."""

import re
from collections.abc import Iterator

PIECE_CHARACTERS = 32_768

_WORD_END = re.compile(
    r"\S(?=[ \n])"
)  # \s would take U+001C to U+001F for white space, GPT-2's pattern does not


def cut(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """`text` in pieces of at least `size` characters, each but the last ending where a word does, before a space or line end.

    GPT-2's pattern never joins a word with the white space after it, so no token crosses such a cut, and no
    marker does either. A text without white space stays in one piece.
    """
    start = 0
    while len(text) - start > size and (end := _WORD_END.search(text, start + size - 1)):
        yield text[start : end.end()]
        start = end.end()
    if start < len(text):
        yield text[start:]
