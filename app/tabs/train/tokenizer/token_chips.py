"""A sentence taken apart: each token in a frame of its own, its id below it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.widgets.controls.chips import ChipColours, Chips, ChipText
from app.widgets.theme import colours
from app.widgets.token_text import visible
from core.tasks.models.examine_tokenizer import TokenPiece


class TokenChips(Chips):
    """Tokens in three colours by turns, so that each is seen to be one.

    Signals:
        chosen: The id of the token that was clicked.
    """

    chosen = Signal(int)

    title = "The sentence in tokens"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pieces: Sequence[TokenPiece] = ()
        self.place_chosen.connect(self._choose)

    def show_pieces(self, pieces: Sequence[TokenPiece]) -> None:
        self._pieces = pieces
        self.show_texts([ChipText(piece.text, str(piece.id), _spoken(piece)) for piece in pieces])

    def colours_of(self, place: int) -> ChipColours:
        theme = colours()
        if not self._pieces[place].known:
            return ChipColours(QColor(theme.danger_soft), QColor(theme.danger), QColor(theme.danger))
        fills = (theme.accent_soft, theme.notice_soft, theme.warning_soft)
        return ChipColours(QColor(fills[place % 3]), QColor(theme.border_strong), QColor(theme.text))

    def tool_tip_of(self, place: int) -> str:
        piece = self._pieces[place]
        unknown = "" if piece.known else "Not in the vocabulary. "
        return f"{unknown}Click to copy the id {piece.id}"

    @Slot(int)
    def _choose(self, place: int) -> None:
        self.chosen.emit(self._pieces[place].id)


def _spoken(piece: TokenPiece) -> str:
    return f"{visible(piece.text)}, id {piece.id}"
