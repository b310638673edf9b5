"""The order in which people expect names: numbers in them count as numbers, and case does not count."""

import re
from typing import TypeAlias

_DIGITS = re.compile(r"([0-9]+)")

NaturalKey: TypeAlias = tuple[tuple[str | tuple[int, str], ...], str]


def natural_key(name: str) -> NaturalKey:
    """What to sort names by: "chapter 2" comes before "chapter 10", and that before "Chapter 11".

    Names that differ in case or in leading zeros alone have a fixed order too.
    """
    parts = _DIGITS.split(name.casefold())  # text and digits take turns, so that like meets like
    return tuple(_number(part) if place % 2 else part for place, part in enumerate(parts)), name


def _number(digits: str) -> tuple[int, str]:
    """Compares as the number does. `int` would refuse more than 4,300 digits, and names may come from anywhere."""
    significant = digits.lstrip("0")
    return len(significant), significant
