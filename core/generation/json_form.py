"""A reply that is one JSON object: before each token, which of them can still lead there.

Shapes
    V  vocabulary
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper
from torch import Tensor

from core.errors.base import NoJsonError
from core.tokenizers.tokenizer import NO_TOKEN, Tokenizer

# white space between two parts is one sign at most, or a model could write it until its reply is full
OBJECT = LLMatcher.grammar_from_json_schema({"type": "object"}, defaults={"whitespace_pattern": r"[ \n]?"})
NEEDED = '{}":'  # without which there is no object with anything in it
SPECIAL = b"\xff"  # with which llguidance wants the bytes of a special token to begin


class JsonForm:
    """Where a reply stands in the object that it must become."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Begin before the first token.

        Raises:
            NoJsonError: The vocabulary lacks a character that every object needs.
        """
        vocabulary, missing = _read(tokenizer)
        if missing:
            raise NoJsonError(" ".join(missing))
        self._matcher = LLMatcher(vocabulary, OBJECT)
        self._ends = vocabulary.eos_tokens

    def keep_possible(self, logits: Tensor) -> Tensor:
        """The scores, (V,), -inf where a token would leave JSON. What only an end can follow is followed by one."""
        allowed = np.unpackbits(
            np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8), bitorder="little"
        )
        possible = torch.from_numpy(allowed[: len(logits)].astype(bool))  # (V,)
        if not possible.any():
            possible[self._ends] = True
        return logits.masked_fill(~possible.to(logits.device), -torch.inf)  # (V,)

    def take(self, token: int) -> None:
        """Go on behind a token that was possible."""
        if not self._matcher.is_stopped():
            self._matcher.consume_token(token)


@lru_cache(maxsize=4)
def _read(tokenizer: Tokenizer) -> tuple[LLTokenizer, tuple[str, ...]]:
    """The vocabulary as llguidance searches it, and the characters of `NEEDED` that it lacks."""
    ends = [tokenizer.eos_id, *tokenizer.end_ids, tokenizer.user_id, tokenizer.assistant_id]
    known: Any = LLTokenizer(
        TokenizerWrapper(_Vocabulary(tokenizer)),
        eos_token=[end for end in dict.fromkeys(ends) if end != NO_TOKEN],
    )
    return known, tuple(sign for sign in NEEDED if tokenizer.unknown(sign))


class _Vocabulary:
    """What `TokenizerWrapper` asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer) -> None:
        stand_for = list(map(tokenizer.token_bytes, range(tokenizer.vocab_size)))
        self.eos_token_id = tokenizer.eos_id
        self.special_token_ids = [token for token, stands_for in enumerate(stand_for) if not stands_for]
        self.tokens = [stands_for or SPECIAL + b"%d" % token for token, stands_for in enumerate(stand_for)]
        self._tokenizer = tokenizer

    def __call__(self, text: bytes) -> list[int]:
        return self._tokenizer.encode(text.decode("utf-8", "replace"))
