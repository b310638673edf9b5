"""What the model considered at a token of a completion, shown where the mouse points at it, or the cursor stands."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from app.tabs.chat.completion.generated_parts import Parts, part_at
from app.tabs.chat.view.token_popup import TokenPopup
from core.events.replies import TokenDetails

Found = tuple[
    int, TokenDetails, int, int
]  # its number over all parts, what was considered, and where it stands


class CompletionTokens(QObject):
    """Pointing at a token shows its popup, a click keeps it there; typing, scrolling and Esc close it.

    Signals:
        chosen: The number of a token, counted over all parts, and the id of another one that should stand there.
    """

    chosen = Signal(int, int)

    def __init__(self, edit: QPlainTextEdit) -> None:
        super().__init__(edit)
        self._edit = edit
        self._parts: Parts = ()
        self._at: Found | None = None
        self._popup: TokenPopup | None = None
        self.can_choose = True
        edit.viewport().setMouseTracking(True)
        edit.viewport().installEventFilter(self)
        edit.verticalScrollBar().valueChanged.connect(self.close)

    @property
    def popup(self) -> TokenPopup:
        """Made when it is first needed, in the window that the text is in."""
        if self._popup is None:
            self._popup = TokenPopup(self._edit)
            self._popup.chosen.connect(self._choose)
            self._popup.closed.connect(self.close)
        return self._popup

    @property
    def is_open(self) -> bool:
        return self._popup is not None and not self._popup.isHidden()

    def show_parts(self, parts: Parts) -> None:
        """What a model wrote now."""
        self._parts = parts
        if self.is_open:
            self.close()

    def find(self, position: int) -> Found | None:
        """The token that stands at a position of the document."""
        before = 0
        part = part_at(self._parts, position)
        for one in self._parts:
            if one is part:
                for number in one.token_range(position, position + 1):
                    return before + number, one.tokens.details[number], *one.place(number)
            before += len(one.tokens.details)
        return None

    def open_at_cursor(self) -> None:
        """Show the token behind the cursor, or before it, with its alternatives to be chosen by the keys."""
        position = self._edit.textCursor().position()
        found = self.find(position) or self.find(position - 1)
        if found is not None:
            self._show(found, pinned=True)
            self.popup.take_focus()

    @Slot()
    def close(self) -> None:
        """Show no token."""
        self._at = None
        if self._popup is None or self._popup.isHidden():
            return
        had_focus = self._popup.isAncestorOf(self._edit.window().focusWidget() or self._edit)
        self._popup.hide()
        if had_focus:
            self._edit.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and self.is_open:
            return True  # which would cover the popup
        if event.type() == QEvent.Type.Leave:
            self._point_at(None)
        elif isinstance(event, QMouseEvent):
            place = event.position().toPoint()
            if event.type() == QEvent.Type.MouseMove and event.buttons() == Qt.MouseButton.NoButton:
                self._point_at(self._found_at(place))
            elif event.type() == QEvent.Type.MouseButtonPress:
                self.close()
            elif (
                event.type() == QEvent.Type.MouseButtonRelease and event.button() == Qt.MouseButton.LeftButton
            ):
                self._pin(place)
        return super().eventFilter(watched, event)

    def _pin(self, place: QPoint) -> None:
        found = None if self._edit.textCursor().hasSelection() else self._found_at(place)
        if found is not None:
            self._show(found, pinned=True)

    def _point_at(self, found: Found | None) -> None:
        if self.is_open and self.popup.is_pinned:
            return
        if found is None:
            self.close()
        elif self._at is None or found[0] != self._at[0]:
            self._show(found, pinned=False)

    def _found_at(self, place: QPoint) -> Found | None:
        """The token under the mouse."""
        cursor = self._edit.cursorForPosition(place)
        box = self._edit.cursorRect(cursor)
        is_before = place.x() < box.x()
        if not box.top() <= place.y() <= box.bottom() or (not is_before and cursor.atBlockEnd()):
            return None
        return self.find(cursor.position() - is_before)

    def _show(self, found: Found, *, pinned: bool) -> None:
        self._at = found
        first, last = (self._edit.cursorRect(self._cursor(position)) for position in found[2:])
        box = QRect(first)
        if first.top() == last.top():
            box.setRight(last.left())
        corner = self._edit.viewport().mapTo(self._edit.window(), box.topLeft())
        self.popup.show_token(found[1], QRect(corner, box.size()), can_choose=self.can_choose, pinned=pinned)

    def _cursor(self, position: int) -> QTextCursor:
        cursor = QTextCursor(self._edit.document())
        cursor.setPosition(min(position, self._edit.document().characterCount() - 1))
        return cursor

    @Slot(int)
    def _choose(self, token_id: int) -> None:
        if self._at is not None:
            number = self._at[0]
            self.close()
            self.chosen.emit(number, token_id)
