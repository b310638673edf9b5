"""What the model would write next, and what the sampler makes of it, live as its settings change."""

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.tabs.chat.sampling.next_token_list import CANDIDATE_ROLE, CandidateList
from app.widgets.label import Label
from app.widgets.layout import column
from app.widgets.theme import set_role
from app.widgets.token_text import probability, visible
from core.tasks.chat.next_token import Candidates
from core.wording import listed, number

LEGEND = "Bar: after the filters. Thin bar: before them."
LEGEND_TIP = (
    "Bars: after penalty, top-k, temperature, top-p and min-p. Thin bars: the model's own probability."
)
NOTHING = "Open a model to see what it would write next."


class NextTokenPanel(QWidget):
    """The likeliest tokens as bars.

    Signals:
        token_chosen: The id of a token that the text should go on with.
        shown, hidden: The panel came into view, or left it.
    """

    token_chosen = Signal(int)
    shown = Signal()
    hidden = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("nextTokenPanel")
        self.setAccessibleName("Next token")
        self._is_outdated = False
        self.status = Label(
            NOTHING, objectName="nextTokenStatus", wordWrap=True, alignment=Qt.AlignmentFlag.AlignTop
        )
        self.legend = Label(LEGEND, wordWrap=True, toolTip=LEGEND_TIP)
        set_role(self.legend, "muted")
        self.list = CandidateList()
        self.list.setToolTip("Choose a token to go on with it (Enter)")
        self.list.clicked.connect(self._choose)
        column(self.status, (self.list, 1), self.legend, of=self)
        self.list.hide()
        self.legend.hide()

    def show_candidates(self, after: Candidates) -> None:
        """Show what may come next after the text in front."""
        self._is_outdated = False
        self.list.show_candidates(after)
        self.list.show()
        self.legend.show()
        said = _summary(after)
        self.status.setText(said)
        best = after.tokens[0]
        self.list.setAccessibleDescription(
            f"The likeliest is {visible(best.text)} with {probability(best.probability)}. {said}"
        )

    def show_outdated(self) -> None:
        """The text in front has changed, and what may follow it is being computed."""
        self._is_outdated = True  # the list stays enabled: it would lose the keyboard

    def show_nothing(self, reason: str = NOTHING) -> None:
        """There is nothing to show, for a reason."""
        self.status.setText(reason)
        self.list.hide()
        self.legend.hide()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.hidden.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, which the list leaves to its parent, chooses the current token."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.hasFocus():
            self._choose(self.list.currentIndex())
        else:
            super().keyPressEvent(event)

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        if index.isValid() and not self._is_outdated:
            self.token_chosen.emit(index.data(CANDIDATE_ROLE).token_id)


def _summary(after: Candidates) -> str:
    """Entropies, how many tokens are left, and what ruled the others out."""
    said = f"Entropy {after.entropy:.2f} bits, after the filters {after.final_entropy:.2f} bits. "
    said += f"{number(after.left)} of {number(after.vocab_size)} tokens are left"
    if not after.removed:
        return f"{said}."
    ruled_out = [f"{name} {number(count)}" for name, count in after.removed.items()]
    return f"{said}; ruled out by {listed(ruled_out)}."
