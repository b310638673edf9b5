"""Finding words in what is in front, whatever shows it."""

from PySide6.QtCore import QObject, Signal

from app.tabs.chat.view.text_matches import Match, TextMatches


class PageSearch(QObject):
    """Goes from match to match; a subclass marks them and scrolls to the current one.

    Signals:
        changed: There are other matches, or another one is the current one.
    """

    changed = Signal()

    def __init__(self, matches: TextMatches, page: QObject) -> None:
        super().__init__(page)
        self.matches = matches

    def mark(self, words: str) -> None:
        """To be overridden: mark these words, and scroll nowhere; "" marks nothing."""
        raise NotImplementedError

    def top(self) -> Match:
        """To be overridden: the first character in sight."""
        raise NotImplementedError

    def show_current(self) -> None:
        """To be overridden: mark the current match, and scroll to it."""
        raise NotImplementedError

    def find(self, words: str) -> None:
        """Mark these words, and go to the first match from the current one on, or from what is in sight on."""
        start = self.matches.current or self.top()
        self.mark(words)
        self.matches.go_to_nearest(start)
        self._show()

    def step(self, steps: int) -> None:
        """Go to the next match (1), or the one before (-1)."""
        if self.matches.current is None:
            self.matches.go_to_nearest(self.top())
        else:
            self.matches.step(steps)
        self._show()

    def _show(self) -> None:
        self.show_current()
        self.changed.emit()
