"""Texts that were typed and neither sent nor saved, so that they can be shown again."""

import json

MAX_DRAFTS = 50
MAX_CHARACTERS = 200_000  # of all drafts, as the window's settings keep them


class UnsentTexts:
    """Texts by what they belong to, the last changed at the end; the oldest go where there are too many."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def keep(self, key: str, text: str) -> None:
        """Remember a text; an empty one is forgotten."""
        self._texts.pop(key, None)
        if text.strip():
            self._texts[key] = text
        while len(self._texts) > MAX_DRAFTS:
            del self._texts[next(iter(self._texts))]

    def get(self, key: str) -> str:
        """Return the text that was kept last under this key; "" for none."""
        return self._texts.get(key, "")

    def to_json(self) -> str:
        """All texts, or the newest that have room."""
        kept: dict[str, str] = {}
        room = MAX_CHARACTERS
        for key, text in reversed(self._texts.items()):
            room -= len(text)
            if room >= 0:
                kept[key] = text
        return json.dumps(dict(reversed(kept.items())))

    def restore(self, text: str) -> None:
        """Take over what `to_json` wrote; a text of another origin is ignored."""
        try:
            for key, value in json.loads(text or "{}").items():
                self.keep(str(key), str(value))
        except (ValueError, AttributeError, RecursionError):
            self._texts = {}
