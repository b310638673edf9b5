"""What is switched off, as text that a person types: the form in which `Changes.sentence` says it."""

import re

from core.errors.base import UsageError
from core.inspection.changes import Changes, Head, SubLayer

_PLACE = re.compile(
    r"(?:layer (?P<layer>[1-9]\d*),? (?:head (?P<head>[1-9]\d*)|(?P<part>attention|feed-forward)))"
    r"|(?:position (?P<position>[1-9]\d*))"
)


class UnknownPartError(UsageError):
    """A part that cannot be read."""

    text: str
    message = "{text!r} names nothing that can be switched off."
    remedy = "Write for example: layer 2 head 1; layer 3 attention; layer 4 feed-forward; position 5."


def parse_changes(text: str) -> Changes:
    """What is to be switched off: parts with semicolons between them, all counted from 1.

    Raises:
        UnknownPartError: One of them cannot be read.
    """
    heads, sub_layers, positions = set(), set(), set()
    for name in filter(None, (part.strip() for part in text.split(";"))):
        found = _PLACE.fullmatch(" ".join(name.lower().split()))
        if found is None:
            raise UnknownPartError(name)
        if found["position"]:
            positions.add(int(found["position"]) - 1)
        elif found["head"]:
            heads.add(Head(int(found["layer"]) - 1, int(found["head"]) - 1))
        else:
            part = found["part"]
            sub_layers.add(
                SubLayer(int(found["layer"]) - 1, "attention" if part == "attention" else "feed_forward")
            )
    return Changes(frozenset(heads), frozenset(sub_layers), frozenset(positions))
