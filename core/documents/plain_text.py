"""Bytes to text: UTF-8 first, then what a byte-order mark says, then a detected encoding. Never a codec error."""

import codecs

from charset_normalizer import CharsetMatch, from_bytes

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
DETECTION_BYTES = 64 * 1024  # detection is slow, and the first pages tell
DAMAGE_BYTES = 1024 * 1024
WESTERN = "cp1252"


def decode_text(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text in `data`, without its byte-order mark, and a warning where bytes of it had to be replaced."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decode(data.removeprefix(mark), encoding)
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        return _decode(data, "utf-8" if _is_damaged_utf8(data) else _detect(data))


def has_mark(data: bytes) -> bool:
    """True where `data` begins with a byte-order mark, and so is text whatever else is in it."""
    return data.startswith(tuple(mark for mark, _ in MARKS))


def _decode(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = data.decode(encoding, errors="replace")
    replaced = text.count("\N{REPLACEMENT CHARACTER}") - _count_honest_replacements(data, encoding)
    if replaced <= 0:
        return text, ()
    places = "1 place" if replaced == 1 else f"{replaced:,} places"
    return text, (f"It is not clean text: {places} could not be decoded.",)


def _count_honest_replacements(data: bytes, encoding: str) -> int:
    """How often the file itself says U+FFFD; such a character is no fault of ours."""
    mark = "\N{REPLACEMENT CHARACTER}"
    return data.count(mark.encode(encoding)) if encoding.startswith("utf") else 0


def _is_damaged_utf8(data: bytes) -> bool:
    """True where most of what is not ASCII is whole UTF-8, so that a few bad bytes do not turn it into another encoding."""
    whole = data[:DAMAGE_BYTES].decode("utf-8", errors="ignore")
    bad = data[:DAMAGE_BYTES].decode("utf-8", errors="replace").count("\N{REPLACEMENT CHARACTER}")
    return sum(character > "\x7f" for character in whole) > 10 * bad


def _detect(data: bytes) -> str:
    matches = from_bytes(data[:DETECTION_BYTES])
    best = matches.best()
    if best is None:
        return WESTERN
    equals = [match for match in matches if _is_as_good(match, best)]
    # On short Western text many code pages are equally likely; the one that most such files have wins.
    return WESTERN if any(WESTERN in match.could_be_from_charset for match in equals) else best.encoding


def _is_as_good(match: CharsetMatch, best: CharsetMatch) -> bool:
    return match.chaos == best.chaos and match.coherence == best.coherence
