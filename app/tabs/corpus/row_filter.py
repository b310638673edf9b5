"""Which rows of the ledger a user wants to see."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.tabs.corpus.columns import NEAR, is_near_duplicate
from core.corpus.library import DocumentRow


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Rows pass that fit all of it.

    Args:
        name: Part of the file's name, in any case; "" for all.
        state: One state, or `NEAR`; "" for all.
        kind: One kind; "" for all.
        hits: The numbers of the documents that a search found, with their rank; None where nothing is searched.
    """

    name: str = ""
    state: str = ""
    kind: str = ""
    hits: Mapping[int, int] | None = None

    @property
    def passes_all(self) -> bool:
        return not (self.name or self.state or self.kind) and self.hits is None

    def passes(self, row: DocumentRow) -> bool:
        if self.state and row.state != self.state and not (self.state == NEAR and is_near_duplicate(row)):
            return False
        if self.kind and row.kind != self.kind:
            return False
        if self.hits is not None and row.id not in self.hits:
            return False
        return not self.name or self.name.casefold() in row.name.casefold()
