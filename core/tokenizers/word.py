"""One token per word between white space: the tokenizer of the small teaching transformer."""

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import ClassVar, Self

import numpy as np

from core.tokenizers.tokenizer import ROLES, SPECIALS, UNK, IdArray, Tokenizer


class WordTokenizer(Tokenizer):
    """Words to ids. White space is not kept: decoding joins the words with single spaces."""

    kind: ClassVar[str] = "word"
    drops_first_space = True

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tuple(tokens)
        words = self.tokens[len(SPECIALS) : -len(ROLES)]
        self._ids = {word: token_id for token_id, word in enumerate(words, start=len(SPECIALS))}
        self._bytes = [b""] * len(SPECIALS) + [f" {word}".encode() for word in words] + [b""] * len(ROLES)

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int) -> Self:
        """The most frequent words, most frequent first, those of equal number in code-point order.

        Args:
            texts: What to count words in; each text is forgotten once counted.
            vocab_size: The most tokens there may be, special tokens and roles included.
        """
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(text.split())
        return cls.from_counts(counts.items(), vocab_size)

    @classmethod
    def from_counts(cls, counts: Iterable[tuple[str, int]], vocab_size: int) -> Self:
        """The vocabulary that `train` makes of texts in which each word occurs so often."""
        room = vocab_size - len(SPECIALS) - len(ROLES)
        ranked = nsmallest(room, ((-count, word) for word, count in counts))
        return cls((*SPECIALS, *(word for _, word in ranked), *ROLES))

    def encode_all(self, texts: Sequence[str]) -> list[IdArray]:
        return [
            np.array([self._ids.get(word, UNK) for word in text.split()], dtype=np.int64) for text in texts
        ]

    def token_bytes(self, token_id: int) -> bytes:
        return self._bytes[token_id]

    def unknown(self, text: str) -> tuple[str, ...]:
        return tuple(word for word in dict.fromkeys(text.split()) if word not in self._ids)
