"""Parts of a page beside or above each other, with borders that the user can move."""

import re
from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QSplitter, QWidget

from app.widgets.theme import SMALL


class Splitter(QSplitter):
    """A `QSplitter` whose sizes can be remembered once the user has chosen them; no part of it can be shut."""

    def __init__(
        self,
        name: str,
        orientation: Qt.Orientation,
        parts: Sequence[QWidget] = (),
        sizes: Sequence[int] = (),
        parent: QWidget | None = None,
    ) -> None:
        """`name` is its object name, and `sizes` those of the parts at first."""
        super().__init__(orientation, parent, childrenCollapsible=False, handleWidth=SMALL)
        self.setObjectName(name)
        for part in parts:
            self.addWidget(part)
        if sizes:
            self.setSizes(sizes)
        self._chosen = ""
        self.splitterMoved.connect(self._take_sizes)

    def state(self) -> str:
        """The sizes as the user has chosen them; "" where he has not."""
        return self._chosen

    def set_state(self, state: str) -> None:
        """Take what `state` said in an earlier session; anything else is passed over."""
        if not re.fullmatch(r"\d{1,5}(,\d{1,5})*", state, re.ASCII):
            return
        sizes = [int(size) for size in state.split(",")]
        if len(sizes) == self.count() and any(sizes):
            self._chosen = state
            self.setSizes(sizes)

    @Slot()
    def _take_sizes(self) -> None:
        self._chosen = ",".join(str(size) for size in self.sizes())
