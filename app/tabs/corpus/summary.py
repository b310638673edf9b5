"""What the rows of the ledger amount to, kept up to date row by row: twenty thousand are never counted anew."""

from collections import Counter

from app.tabs.corpus.columns import NEAR, has_text, is_near_duplicate
from core.corpus.library import DocumentRow


class Summary:
    """Counts of rows that were added and not taken away again."""

    def __init__(self) -> None:
        self.files = 0
        self.states: Counter[str] = (
            Counter()
        )  # files by state, and those that are near duplicates under `NEAR`
        self.kinds: Counter[str] = Counter()  # files by kind
        self.characters_of: Counter[str] = Counter()  # characters in the corpus, by kind
        self.documents = 0  # files whose text is in the corpus
        self.near_included = 0

    @property
    def characters(self) -> int:
        """All characters in the corpus."""
        return self.characters_of.total()

    def add(self, row: DocumentRow) -> None:
        self._count(row, 1)

    def take_away(self, row: DocumentRow) -> None:
        self._count(row, -1)

    def _count(self, row: DocumentRow, sign: int) -> None:
        self.files += sign
        self.states[row.state] += sign
        self.kinds[row.kind] += sign
        in_corpus = row.included and has_text(row)
        if in_corpus:
            self.documents += sign
            self.characters_of[row.kind] += sign * row.characters
        if row.similarity and is_near_duplicate(row):
            self.states[NEAR] += sign
            self.near_included += sign * in_corpus
