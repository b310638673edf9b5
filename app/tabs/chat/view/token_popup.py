"""What the model considered where it wrote a token, in a frame beside that token."""

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRect, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.widgets.controls.small import application
from app.widgets.label import Label
from app.widgets.layout import column
from app.widgets.theme import SMALL, TINY, set_role
from app.widgets.token_bars import TokenBar, TokenBars
from app.widgets.token_text import probability_in_brief, quoted, visible
from core.events.replies import Alternative, TokenDetails
from core.wording import percent

WIDTH_PX = 300
GAP_PX = 4  # between the token and the frame
_LEFT = (QEvent.Type.Hide, QEvent.Type.WindowDeactivate)  # of the view and of its window


class TokenPopup(QFrame):
    """Lies over the window; the mouse goes through it until it is pinned.

    Signals:
        chosen: The id of an alternative that the user wants in the token's place.
        closed: It should be closed: Esc was pressed in it, its view was hidden, or the focus or the user went elsewhere.
    """

    chosen = Signal(int)
    closed = Signal()

    def __init__(self, view: QWidget) -> None:
        """`view` shows the tokens; the popup lies over its window."""
        super().__init__(view.window())
        self._view = view
        view.destroyed.connect(self.deleteLater)
        view.installEventFilter(self)
        view.window().installEventFilter(self)
        application().focusChanged.connect(self._follow_focus)
        self.setObjectName("tokenPopup")
        self.setAccessibleName("Token")
        set_role(self, "card")
        self.is_pinned = False
        self._token: TokenDetails | None = None
        self.title = Label(objectName="tokenTitle", role="subtitle")
        self.facts = Label(objectName="tokenFacts")
        self.hint = Label(objectName="tokenHint", wordWrap=True, role="muted")
        self.alternatives = TokenBars("alternativeList", "The likeliest tokens here", of_all=True)
        self.alternatives.chosen.connect(self.chosen)
        parts = self.title, self.facts, self.alternatives, self.hint
        self._layout = column(*parts, of=self, margins=SMALL, spacing=TINY)
        self.setFixedWidth(WIDTH_PX + 2 * SMALL)
        self.hide()

    def show_token(self, token: TokenDetails, beside: QRect, *, can_choose: bool, pinned: bool) -> None:
        """Show a token that stands in this rectangle of the window, below or above it."""
        if token is not self._token:
            self._token = token
            self.title.setText(quoted(token.text) if token.text else "(part of a character)")
            self.facts.setText(facts(token))
            self.setAccessibleDescription(facts(token))
            self.alternatives.show_tokens([_bar(one, token.token_id) for one in token.alternatives])
            self.alternatives.fit(len(token.alternatives))
            self.alternatives.setCurrentIndex(QModelIndex())
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

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _LEFT and not self.isHidden():
            self.closed.emit()
        return super().eventFilter(watched, event)

    @Slot(QWidget, QWidget)
    def _follow_focus(self, _before: QWidget | None, now: QWidget | None) -> None:
        if now is None or self.isHidden():
            return
        if now is not self._view and not any(one.isAncestorOf(now) for one in (self, self._view)):
            self.closed.emit()

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


def _bar(one: Alternative, written: int) -> TokenBar:
    text, figure = visible(one.text), probability_in_brief(one.probability)
    colour = "accent" if one.token_id == written else "text"
    return TokenBar(one.token_id, text, figure, f"{text}, {figure}", one.probability, colour=colour)


def facts(token: TokenDetails) -> str:
    """Probability, rank and entropy in words."""
    known = [f"probability {probability_in_brief(token.probability)}"]
    if token.rank:
        known += [f"rank {token.rank:,}", f"entropy {token.entropy:.2f} bits"]
    said = " · ".join(known).capitalize()
    return (
        f"{said}\n{percent(token.from_documents)} of it from the documents" if token.from_documents else said
    )


def _hint(token: TokenDetails, pinned: bool, can_choose: bool) -> str:
    if not token.alternatives:
        return "What else the model considered here was not kept."
    if not can_choose:
        return "Open a model to continue from an alternative."
    return (
        "Select one to cut the text here and continue with it."
        if pinned
        else "Click the token, or press Enter, to select another."
    )
