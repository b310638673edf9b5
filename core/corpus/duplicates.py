"""When two documents are the same: by their bytes, or by the text that was read from them."""

import hashlib

from core.corpus.normalize import normalize


def text_fingerprint(text: str) -> str:
    """SHA-256, in hexadecimal, of what a reader would call the text; "" where there is none.

    Line ends, trailing spaces and blank lines do not count: a copy that only passed through another system is
    still a copy.
    """
    words = normalize(text, "text").strip()
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest() if words else ""
