"""A message's text cut into segments that are laid out one by one: prose, plain text, and the parts of a code block.

A cut depends only on what stands before it and a bounded number of characters after it. So while a text grows at its
end, all segments but the last stay as they are.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

ENOUGH = 800  # characters after which a segment ends where it can
MOST = 2000  # characters after which it ends wherever it is
Kind = Literal["plain", "prose", "code"]
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*)(?:\n|\Z)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n+(?=[^\s])")  # a blank line before one that is not indented
_LINE = re.compile(r"\n")
_HALF_FENCE = re.compile(r"(?:^|\n)[ \t]*(?:`{1,2}|~{1,2})\Z")


class Segment(NamedTuple):  # a long message has thousands
    """Characters `start` to `end` of a message; those from `first` to `last` are shown.

    A long code block is several segments: the first `opens` it, the last `closes` it. `block` is where its text begins.
    """

    kind: Kind
    start: int
    end: int
    first: int
    last: int
    fence: str = ""
    language: str = ""
    opens: bool = True
    closes: bool = True
    block: int = 0


def plain_segments(text: str, start: int = 0) -> list[Segment]:
    """The text as it is, from a character on."""
    return [
        Segment("plain", a, b, a, b - text.startswith("\n", b - 1) if b < len(text) else b)
        for a, b in _pieces(text, start, len(text), _LINE)
    ] or [Segment("plain", start, start, start, start)]


def markdown_segments(text: str, start: int = 0, part: Segment | None = None) -> list[Segment]:
    """Prose and code blocks by turns, from a character on, which is inside the code block that `part` is of."""
    found: list[Segment] = []
    if part is not None:
        found.extend(_code(text, start, part))
    at = found[-1].end if found else start
    while at < len(text):
        fence = _FENCE.search(text, at)
        found.extend(_prose(text, at, fence.start() if fence else len(text)))
        if fence is None:
            break
        body = fence.end()
        places = (fence.start(), body, body, body)
        found.extend(_code(text, body, Segment("code", *places, fence[1], fence[2].strip(), block=body)))
        at = found[-1].end
    return found or [Segment("prose", start, start, start, start)]


def grown(text: str, segments: list[Segment]) -> list[Segment]:
    """The segments of a text that has become longer at its end; of those before only the last, or two, may be others."""
    kept, last = segments[:-1], segments[-1]
    if kept and last.kind == "code" and last.opens and text[last.block - 1] != "\n":
        kept = kept[:-1]  # its fence had no end of line yet: it may turn out to be none
    start = kept[-1].end if kept else 0  # blank lines before what looked like a fence may belong to it
    if last.kind == "plain":
        return kept + plain_segments(text, start)
    part = last if last.kind == "code" and not last.opens else None
    return kept + markdown_segments(text, start, part)


def without_half_fence(text: str) -> str:
    """The text without a last line that is about to become the fence of a code block."""
    half = _HALF_FENCE.search(text)
    return text[: half.start()] if half else text


def _prose(text: str, start: int, end: int) -> Iterator[Segment]:
    for a, b in _pieces(text, start, end, _PARAGRAPH):
        shown = text[a:b]
        if shown.strip():
            yield Segment("prose", a, b, a, a + len(shown.rstrip("\n")))


def _code(text: str, start: int, opened: Segment) -> Iterator[Segment]:
    """The parts of a code block from `start` on; the first of them is the one that opens it, where start is its begin."""
    mark = re.escape(opened.fence[0])
    close = re.compile(rf"^[ \t]*{mark}{{{len(opened.fence)},}}[ \t]*(?:\n|\Z)", re.MULTILINE).search(
        text, start
    )
    body_end = close.start() if close else len(text)
    pieces = list(_pieces(text, start, body_end, _LINE)) or [(start, start)]
    for number, (a, b) in enumerate(pieces):
        is_first = number == 0 and start == opened.block
        is_last = number == len(pieces) - 1
        yield Segment(
            "code",
            opened.start if is_first else a,
            close.end() if close and is_last else b,
            a,
            b - (b > a and text[b - 1] == "\n"),
            opened.fence,
            opened.language,
            is_first,
            is_last,
            opened.block,
        )


def _pieces(text: str, start: int, end: int, border: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Spans of at most `MOST` characters that end behind a `border`, else behind a line, else behind a word."""
    while end - start > ENOUGH:
        found = border.search(text, start + ENOUGH, min(end, start + MOST))
        if found is not None:
            cut = found.end()
        elif end - start > MOST:
            cut = max(
                text.rfind("\n", start + ENOUGH, start + MOST), text.rfind(" ", start + ENOUGH, start + MOST)
            )
            cut = cut + 1 if cut >= 0 else start + MOST
        else:
            break
        yield start, cut
        start = cut
    if start < end:
        yield start, end
