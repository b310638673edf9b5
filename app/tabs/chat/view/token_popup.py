"""What the model considered where it wrote a token, in a frame beside that token."""

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.tabs.chat.view.alternative_list import WIDTH_PX, AlternativeList
from app.widgets.label import Label
from app.widgets.theme import SMALL, TINY, set_role
from app.widgets.token_text import probability_in_brief, quoted
from core.events.replies import TokenDetails

GAP_PX = 4  # between the token and the frame


class TokenPopup(QFrame):
    """Lies over the window; the mouse goes through it until it is pinned.

    Signals:
        chosen: The id of an alternative that the user wants in the token's place.
        closed: Esc was pressed in it.
    """

    chosen = Signal(int)
    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("tokenPopup")
        self.setAccessibleName("Token")
        set_role(self, "card")
        self.is_pinned = False
        self._token: TokenDetails | None = None
        self.title = Label(objectName="tokenTitle")
        set_role(self.title, "subtitle")
        self.facts = Label(objectName="tokenFacts")
        self.hint = Label(objectName="tokenHint", wordWrap=True)
        set_role(self.hint, "muted")
        self.alternatives = AlternativeList()
        self.alternatives.chosen.connect(self.chosen)
        self._layout = layout = QVBoxLayout(self)
        layout.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        layout.setSpacing(TINY)
        for widget in (self.title, self.facts, self.alternatives, self.hint):
            layout.addWidget(widget)
        self.setFixedWidth(WIDTH_PX + 2 * SMALL)
        self.hide()

    def show_token(self, token: TokenDetails, beside: QRect, *, can_choose: bool, pinned: bool) -> None:
        """Show a token that stands in this rectangle of the window, below or above it."""
        if token is not self._token:
            self._token = token
            self.title.setText(quoted(token.text) if token.text else "(part of a character)")
            self.facts.setText(facts(token))
            self.setAccessibleDescription(facts(token))
            self.alternatives.show_alternatives(token.alternatives, token.token_id)
            self.alternatives.setVisible(bool(token.alternatives))
        self.is_pinned = pinned
        self.alternatives.setEnabled(can_choose or not pinned)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not pinned)
        self.hint.setText(_hint(token, pinned, can_choose))
        self._place(beside)
        self.show()
        self.raise_()

    def take_focus(self) -> None:
        """Go on in the list with the arrow keys."""
        self.alternatives.setFocus()
        self.alternatives.setCurrentIndex(self.alternatives.model().index(0, 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def _place(self, beside: QRect) -> None:
        self._layout.activate()
        self.resize(self.width(), self._layout.totalHeightForWidth(self.width()))
        room = self.window().rect()
        top = beside.bottom() + GAP_PX
        if top + self.height() > room.bottom():
            top = beside.top() - GAP_PX - self.height()
        left = min(beside.left(), room.right() - self.width())
        self.move(max(left, 0), max(min(top, room.bottom() - self.height()), 0))


def facts(token: TokenDetails) -> str:
    """Probability, rank and entropy in words."""
    known = [f"probability {probability_in_brief(token.probability)}"]
    if token.rank:
        known += [f"rank {token.rank:,}", f"entropy {token.entropy:.2f} bits"]
    return " · ".join(known).capitalize()


def _hint(token: TokenDetails, pinned: bool, can_choose: bool) -> str:
    if not token.alternatives:
        return "What else the model considered here was not kept."
    if not can_choose:
        return "Open a model to go on from an alternative."
    return "Choose one to go on from it." if pinned else "Click the token, or press Enter, to choose another."
