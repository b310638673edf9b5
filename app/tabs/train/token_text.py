"""How tokens are written where a person reads them: white space as signs, shares and counts with their units."""

SIGNS = str.maketrans({" ": "␣", "\n": "⏎", "\t": "→", "\r": "␍"})
KINDS = {"bpe": "Byte pairs (BPE)", "char": "Characters", "word": "Words"}
UNKNOWN = {"word": "words"}  # what a vocabulary can lack; characters, where nothing else is named


def visible(text: str) -> str:
    """`text` with signs in the place of white space that would not be seen."""
    return text.translate(SIGNS)


def percentage(share: float) -> str:
    """A share from 0 to 1 in percent; one that is only almost nothing, or almost all, is not called so."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.0001:
        return "< 0.01 %"
    return f"{min(100 * share, 99.99):.2f} %"


def count(number: int, noun: str) -> str:
    """1 token, 1,000 tokens."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
