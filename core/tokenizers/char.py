"""One token per character: the characters of the corpus, in code-point order, after the special tokens."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from core.tokenizers.tokenizer import ROLES, SPECIALS, UNK, IdArray, Tokenizer

CODE_POINTS = 0x110000
SURROGATES = slice(0xD800, 0xE000)  # halves of UTF-16 pairs: no characters, and UTF-8 cannot write them


class CharTokenizer(Tokenizer):
    """Characters to ids through a table of all code points."""

    kind: ClassVar[str] = "char"

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tuple(tokens)
        characters = self.tokens[len(SPECIALS) : -len(ROLES)]
        self._bytes = [b""] * len(SPECIALS) + [c.encode() for c in characters] + [b""] * len(ROLES)
        self._ids = np.full(CODE_POINTS, UNK, dtype=np.int32)
        self._ids[[ord(character) for character in characters]] = np.arange(len(characters)) + len(SPECIALS)

    @classmethod
    def learn(cls, texts: Iterable[str]) -> Self:
        """The vocabulary of every character that occurs in `texts`."""
        seen = np.zeros(CODE_POINTS, dtype=bool)
        for text in texts:
            seen[_code_points(text)] = True
        seen[SURROGATES] = False
        return cls((*SPECIALS, *map(chr, np.flatnonzero(seen)), *ROLES))

    def encode_all(self, texts: Sequence[str]) -> list[IdArray]:
        return [self._ids[_code_points(text)].astype(np.int64) for text in texts]

    def token_bytes(self, token_id: int) -> bytes:
        return self._bytes[token_id]

    def unknown(self, text: str) -> tuple[str, ...]:
        return tuple(character for character in dict.fromkeys(text) if self._ids[ord(character)] == UNK)


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
