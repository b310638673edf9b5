"""Reading a conversation token by token, with the mouse or the arrow keys."""

from PySide6.QtCore import QObject, QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent

from app.tabs.chat.view.conversation_area import ConversationArea
from app.tabs.chat.view.token_popup import TokenPopup, facts
from app.widgets.token_text import quoted
from core.events.replies import TokenDetails

BEGIN_KEY = Qt.Key.Key_T


class TokenReader(QObject):
    """Knows which token is pointed at or walked to, and shows its popup.

    Attributes:
        can_choose: Whether there is a model that could go on from an alternative.

    Signals:
        moved: To another token, or to none.
        walked: To a token, in words.
        chosen: The number of a message, of its token, and the id of the token wanted in its place.
    """

    moved = Signal()
    walked = Signal(str)
    chosen = Signal(int, int, int)

    def __init__(self, area: ConversationArea) -> None:
        super().__init__(area)
        self._area = area
        self._at: tuple[int, int] | None = None  # the message, and the token in it
        self.is_walking = False
        self.can_choose = True
        self._popup: TokenPopup | None = None

    @property
    def popup(self) -> TokenPopup:
        """Made when it is first needed, in the window that the conversation is in."""
        if self._popup is None:
            self._popup = TokenPopup(self._area)
            self._popup.chosen.connect(self._choose)
            self._popup.closed.connect(self.close)
        return self._popup

    @property
    def is_open(self) -> bool:
        return self._popup is not None and not self._popup.isHidden()

    def marked(self) -> tuple[int, int, int] | None:
        """The message and its characters that are to be marked."""
        if self._at is None:
            return None
        item, number = self._at
        return item, *self._area.column.items[item].spans.span(number)

    def token(self) -> TokenDetails | None:
        if self._at is None:
            return None
        return self._area.column.items[self._at[0]].spans.token(self._at[1])

    # With the mouse

    def point_at(self, found: tuple[int, int] | None) -> None:
        """The mouse is over this message's character, or over none."""
        if self.is_walking or (self.is_open and self.popup.is_pinned):
            return
        at = None
        if found is not None:
            number = self._area.column.items[found[0]].spans.at(found[1])
            at = None if number is None else (found[0], number)
        if at != self._at:
            self._move(at)
            self._show(pinned=False) if at is not None else self._hide()

    def pin(self, found: tuple[int, int] | None) -> bool:
        """A character was clicked: keep its token's popup; returns whether there is one."""
        self.close()
        self.point_at(found)
        if self._at is not None:
            self._show(pinned=True)
        return self._at is not None

    # With the keys

    def walk(self, item: int, first: int = 0) -> None:
        """Begin to walk a message's tokens, if they are known."""
        if 0 <= item < len(self._area.column.items) and len(self._area.column.items[item].spans):
            self.close()
            self.is_walking = True
            self._walk_to(item, first)

    def take_key(self, event: QKeyEvent) -> bool:
        """Whether the key was one of those for tokens."""
        if event.key() == Qt.Key.Key_Escape and (self.is_walking or self.is_open):
            self.close()
            return True
        if not self.is_walking or self._at is None:
            return False
        item, number = self._at
        steps = {Qt.Key.Key_Left: number - 1, Qt.Key.Key_Right: number + 1}
        if event.key() in steps and not event.modifiers():
            self._walk_to(item, steps[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._show(pinned=True)
            self.popup.take_focus()
        else:
            return False
        return True

    def open_at(self, item: int, number: int) -> None:
        """Show the popup of a token, pinned."""
        self._move((item, number))
        self._show(pinned=True)

    @Slot()
    def close(self) -> None:
        """Show no token."""
        had_focus = self._popup is not None and self._popup.isAncestorOf(
            self._area.window().focusWidget() or self._area
        )
        self._hide()
        self.is_walking = False
        self._move(None)
        if had_focus:
            self._area.setFocus()

    def _walk_to(self, item: int, number: int) -> None:
        spans = self._area.column.items[item].spans
        self._move((item, max(0, min(number, len(spans) - 1))))
        place = self._place()
        if place is not None:
            top = place.top() + self._area.verticalScrollBar().value()
            self._area.show_part(top - place.height(), top + 2 * place.height())
        self._show(pinned=self.is_open and self.popup.is_pinned)
        token = self.token()
        assert token is not None
        self.walked.emit(f"{quoted(token.text)}, {facts(token)}")

    # What is shown

    def _move(self, at: tuple[int, int] | None) -> None:
        if at != self._at:
            self._at = at
            self.moved.emit()

    def _show(self, *, pinned: bool) -> None:
        token, place = self.token(), self._place()
        if token is None or place is None:
            return
        viewport = self._area.viewport()
        corner = viewport.mapTo(viewport.window(), place.topLeft())
        self.popup.show_token(token, QRect(corner, place.size()), can_choose=self.can_choose, pinned=pinned)

    def follow(self) -> None:
        """The view has moved, or grown: stay beside the token, while it is in sight."""
        if not self.is_open:
            return
        place = self._place()
        if place is None or not self._area.viewport().rect().intersects(place):
            self.close()
        else:
            self._show(pinned=self.popup.is_pinned)

    def _hide(self) -> None:
        if self._popup is not None:
            self._popup.hide()

    def _place(self) -> QRect | None:
        """Where the token stands in the view; of one that is not shown, where it would."""
        marked = self.marked()
        if marked is None:
            return None
        found = self._area.column.rectangle(*marked)
        shift = QPoint(0, self._area.verticalScrollBar().value())
        return found.toRect().translated(-shift) if found is not None else None

    @Slot(int)
    def _choose(self, token_id: int) -> None:
        if self._at is not None:
            item, number = self._at
            self.close()
            self.chosen.emit(item, number, token_id)
