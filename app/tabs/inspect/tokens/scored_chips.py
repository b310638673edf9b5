"""The phrase in tokens, each shaded by how likely the model found it."""

import math

from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.widgets.controls.chips import ChipColours, Chips, ChipText
from app.widgets.shade import shaded
from app.widgets.theme import colours
from app.widgets.token_text import probability, visible
from core.inspection.inspected import Inspected
from core.inspection.tokens import TokenScores, token_facts

SURPRISE_COLOUR, PROBABILITY_COLOUR = "plot_validation", "accent"  # fields of `Colours`


class ScoredChips(Chips):
    """Shades tokens by surprise, from 0 bits to those of a choice among all tokens alike, or by probability."""

    title = "The phrase in tokens"
    marks_cursor = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("phraseChips")
        self._inspected: Inspected | None = None
        self._scores: TokenScores | None = None
        self._by_surprise = True

    @property
    def most_bits(self) -> float:
        """The surprise that has the strongest shade: that of one token among all alike."""
        return math.log2(self._inspected.capture.logits.shape[1]) if self._inspected else 1.0

    def show_scores(self, inspected: Inspected, scores: TokenScores, position: int) -> None:
        """Show a phrase, with the cursor on the selected position."""
        self._inspected, self._scores = inspected, scores
        self.show_texts(
            [
                ChipText(piece.text, f"{place + 1}\nid {piece.id}", self._spoken(place))
                for place, piece in enumerate(inspected.phrase.pieces)
            ],
            position,
        )

    def shade_by(self, *, surprise: bool) -> None:
        self._by_surprise = surprise
        self.update()

    def colours_of(self, place: int) -> ChipColours:
        assert self._inspected is not None and self._scores is not None, "chips stand for a phrase"
        known = self._inspected.phrase.pieces[place].known
        border = QColor(colours().border_strong if known else colours().danger)
        if place == 0:
            return ChipColours(QColor(colours().window), border, QColor(colours().text))
        if self._by_surprise:
            fill, ink = shaded(float(self._scores.surprise[place]) / self.most_bits, SURPRISE_COLOUR)
        else:
            fill, ink = shaded(float(self._scores.probs[place]), PROBABILITY_COLOUR)
        return ChipColours(fill, border, ink)

    def tool_tip_of(self, place: int) -> str:
        assert self._inspected is not None, "chips stand for a phrase"
        facts = token_facts(self._inspected, place)
        made_of = f"{facts.kind}, bytes {facts.bytes}" if facts.bytes else facts.kind
        return f"{self._spoken(place)}\n{made_of}"

    def _spoken(self, place: int) -> str:
        assert self._inspected is not None and self._scores is not None, "chips stand for a phrase"
        piece = self._inspected.phrase.pieces[place]
        unknown = "" if piece.known else ", not in the vocabulary"
        said = f"position {place + 1}, {visible(piece.text)}, id {piece.id}{unknown}"
        return f"{said}, {score_text(self._scores, place)}"


def score_text(scores: TokenScores, place: int) -> str:
    """Probability and surprise in words."""
    if place == 0:
        return "no probability: nothing comes before it"
    return f"probability {probability(float(scores.probs[place]))}, {scores.surprise[place]:.2f} bits"
