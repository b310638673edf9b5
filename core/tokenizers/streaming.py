"""Ids to text, one at a time, for a reader who watches: never half a character."""

import codecs

from core.tokenizers.tokenizer import Tokenizer


class StreamingDecoder:
    """What the pushed ids add to the text; all chunks together are `tokenizer.decode` of all ids.

    Args:
        tokenizer: Whose ids are pushed.
        continues: True where the text goes on after another one, so that a word's space at its start is kept.
    """

    def __init__(self, tokenizer: Tokenizer, continues: bool = False) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._drops_space = tokenizer.drops_first_space and not continues

    @property
    def is_inside_character(self) -> bool:
        """True while only a part of a character's bytes has come."""
        return bool(self._decoder.getstate()[0])

    def push(self, token_id: int) -> str:
        """The characters that this token completes, perhaps none."""
        return self._without_first_space(self._decoder.decode(self._tokenizer.token_bytes(token_id)))

    def finish(self) -> str:
        """U+FFFD where the last character was left half written, else nothing."""
        return self._without_first_space(self._decoder.decode(b"", final=True))

    def _without_first_space(self, text: str) -> str:
        if not (text and self._drops_space):
            return text
        self._drops_space = False
        return text.removeprefix(" ")
