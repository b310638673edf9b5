"""What the model would write next, and what the sampler makes of it, live as its settings change."""

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.tabs.chat.sampling.next_token_list import CANDIDATE_ROLE, CandidateList
from app.widgets.label import Label
from app.widgets.theme import SMALL, set_role
from app.widgets.token_text import probability, visible
from core.config.sampling import SamplingConfig
from core.tasks.next_token import Candidates, NextToken, candidates
from core.wording import listed, number

COUNT = 20  # of the tokens that are shown
REST_MS = 50  # between two looks at a vocabulary that can take tens of milliseconds to rank
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
        self._found: NextToken | None = None
        self._is_outdated = False
        self._sampling = SamplingConfig()
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._filter_newest)
        self._is_filtered = True  # what is shown follows the settings
        self.status = Label(NOTHING, objectName="nextTokenStatus", wordWrap=True)
        self.legend = Label(LEGEND, wordWrap=True, toolTip=LEGEND_TIP)
        set_role(self.legend, "muted")
        self.list = CandidateList()
        self.list.setToolTip("Choose a token to go on with it (Enter)")
        self.list.clicked.connect(self._choose)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.status)
        layout.addWidget(self.list, stretch=1)
        layout.addWidget(self.legend)
        self.list.hide()
        self.legend.hide()

    def show_next(self, found: NextToken) -> None:
        """Show what may come next after the text in front."""
        self._found, self._is_outdated = found, False
        self._filter()

    def show_sampling(self, sampling: SamplingConfig) -> None:
        """Show what other settings make of it, without the model; of many in quick succession the newest."""
        self._sampling, self._is_filtered = sampling, False
        self._filter_newest()

    def show_outdated(self) -> None:
        """The text in front has changed, and what may follow it is being computed."""
        self._is_outdated = True  # the list stays enabled: it would lose the keyboard

    def show_nothing(self, reason: str = NOTHING) -> None:
        """There is nothing to show, for a reason."""
        self._found = None
        self.status.setText(reason)
        self.list.hide()
        self.legend.hide()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._filter_newest()
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

    @Slot()
    def _filter_newest(self) -> None:
        if not self._is_filtered and self.isVisible() and not self._rest.isActive():
            self._filter()
            self._rest.start()

    def _filter(self) -> None:
        self._is_filtered = True
        if self._found is None:
            return
        after = candidates(self._found, self._sampling, COUNT)
        self.list.show_candidates(after)
        self.list.show()
        self.legend.show()
        said = _summary(after)
        self.status.setText(said)
        best = after.tokens[0]
        self.list.setAccessibleDescription(
            f"The likeliest is {visible(best.text)} with {probability(best.probability)}. {said}"
        )

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
