"""What a model considered at each token of a message, in a few bytes a token, in memory as on the disk.

A token with ten alternatives is eleven objects and their texts, some two kilobytes; packed it is 150 bytes, and half
of that on the disk. Probabilities and entropies keep seven digits, as the model computes them.
"""

import json
import struct
import sys
import zlib
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from core.events import Alternative, TokenDetails

FORMAT = 1
HEAD = struct.Struct("<BIII")  # format, tokens, alternatives, bytes of the texts
TOKEN = np.dtype(
    [
        ("token_id", "<i4"),
        ("text", "<u4"),  # its place among the texts
        ("probability", "<f4"),
        ("rank", "<i4"),
        ("entropy", "<f4"),
        ("end", "<u4"),  # of its alternatives, which follow those of the token before
    ]
)
ALTERNATIVE = np.dtype([("token_id", "<i4"), ("text", "<u4"), ("probability", "<f4")])
QUICK = 1  # zlib's level: more saves 5 % and takes three times as long


class PackedTokens(Sequence[TokenDetails]):
    """A sequence of token details that makes each of them when it is asked for, and equals a tuple of the same."""

    __slots__ = ("_alternatives", "_texts", "_tokens")

    def __init__(self, tokens: Sequence[TokenDetails] = ()) -> None:
        texts: dict[str, int] = {}
        alternatives: list[tuple[int, int, float]] = []
        rows = []
        for token in tokens:
            alternatives += [
                (one.token_id, texts.setdefault(one.text, len(texts)), one.probability)
                for one in token.alternatives
            ]
            text = texts.setdefault(token.text, len(texts))
            rows.append(
                (token.token_id, text, token.probability, token.rank, token.entropy, len(alternatives))
            )
        self._texts = list(texts)
        self._tokens = np.array(rows, dtype=TOKEN)
        self._alternatives = np.array(alternatives, dtype=ALTERNATIVE)

    @classmethod
    def from_bytes(cls, packed: bytes) -> "PackedTokens":
        """What `to_bytes` gave.

        Raises:
            ValueError: It is something else, or damaged.
        """
        try:
            content = zlib.decompress(packed)
            version, tokens, alternatives, text_bytes = HEAD.unpack_from(content)
            if version != FORMAT:
                raise ValueError(f"format {version} of token details is not known")
            found = cls()
            start = HEAD.size + text_bytes
            found._texts = list(
                map(sys.intern, json.loads(content[HEAD.size : start]))
            )  # many messages share them
            found._tokens = np.frombuffer(content, TOKEN, tokens, start)
            found._alternatives = np.frombuffer(
                content, ALTERNATIVE, alternatives, start + found._tokens.nbytes
            )
        except (zlib.error, struct.error, TypeError) as cause:
            raise ValueError("token details are damaged") from cause
        return found

    def to_bytes(self) -> bytes:
        texts = json.dumps(self._texts, ensure_ascii=True).encode("ascii")
        head = HEAD.pack(FORMAT, len(self._tokens), len(self._alternatives), len(texts))
        return zlib.compress(head + texts + self._tokens.tobytes() + self._alternatives.tobytes(), QUICK)

    def __len__(self) -> int:
        return len(self._tokens)

    @overload
    def __getitem__(self, place: int) -> TokenDetails: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[TokenDetails, ...]: ...
    def __getitem__(self, place: int | slice) -> TokenDetails | tuple[TokenDetails, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(*place.indices(len(self))))
        at = range(len(self))[place]
        token_id, text, probability, rank, entropy, end = self._tokens[at].item()
        begin = int(self._tokens[at - 1]["end"]) if at else 0
        alternatives = tuple(
            Alternative(one, self._texts[other], share)
            for one, other, share in self._alternatives[begin:end].tolist()
        )
        return TokenDetails(token_id, self._texts[text], probability, rank, entropy, alternatives)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedTokens | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"PackedTokens of {len(self)}"


def pack(tokens: Sequence[TokenDetails]) -> bytes | None:
    """The bytes for the disk; None where there are no tokens."""
    if not tokens:
        return None
    return (tokens if isinstance(tokens, PackedTokens) else PackedTokens(tokens)).to_bytes()


def unpack(packed: Any) -> Sequence[TokenDetails]:
    """What `pack` made bytes of; no tokens where it is damaged, for the text of a message is worth more."""
    if not isinstance(packed, bytes):
        return ()
    try:
        return PackedTokens.from_bytes(packed)
    except ValueError:
        return ()
