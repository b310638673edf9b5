"""The conversation: messages as bubbles, what can be done with each, and what the model considered at every token."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QElapsedTimer, QEvent, QPoint, QPointF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
)
from PySide6.QtWidgets import QMenu, QWidget

from app.tabs.chat.conversation_area import ConversationArea
from app.tabs.chat.conversation_painter import Marks
from app.tabs.chat.document_style import DocumentStyle, Shading
from app.tabs.chat.message_actions import NEXT, PREVIOUS, MessageActions, fill_menu
from app.tabs.chat.message_edit import MessageEdit
from app.tabs.chat.message_item import MessageItem, Unit
from app.tabs.chat.segment_document import language_of
from app.tabs.chat.shading_legend import ShadingLegend
from app.tabs.chat.shown_message import ShownMessage
from app.tabs.chat.token_reader import BEGIN_KEY, TokenReader
from app.widgets.theme import SMALL
from core.events import TokenWritten

__all__ = ["ConversationView", "ShownMessage"]

FRAME_MS = 50  # at least, between two layouts of a reply that grows
IDLE_SHARE = 6  # times as long as a layout took, nothing is laid out behind it
COPIED_MS = 1500
READ_OUT = 2000  # characters of a reply that a screen reader is given at once
WRITING, NO_MODEL = "a reply is being written", "open a model first"


class ConversationView(ConversationArea):
    """Shows messages; what the user wants done with them is asked for.

    Signals:
        edit_requested: The id of a message, and its text as the user wants it.
        regenerate_requested, continue_requested, seen_requested: The id of a message.
        version_requested: The id of a message, and -1 or 1 for the version before or after it.
        inspect_requested: The id of a message, and a character in it, or -1 for its end.
        alternative_chosen: The id of a message, the number of its token, and the id of the token wanted in its place.
    """

    edit_requested = Signal(str, str)
    regenerate_requested = Signal(str)
    version_requested = Signal(str, int)
    continue_requested = Signal(str)
    inspect_requested = Signal(str, int)
    alternative_chosen = Signal(str, int, int)
    seen_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plain = False
        self._shading: Shading = "none"
        self._written: MessageItem | None = None
        self._waiting: list[TokenWritten] = []  # to be shown
        self._can_reply = True
        self._current = self._hovered = -1
        self._copied: Unit | None = None
        self._pointed_at: Unit | None = None
        self._editor: MessageEdit | None = None
        self._edited = -1
        self.setObjectName("conversationView")
        self.setAccessibleName("Conversation")
        self.tokens = TokenReader(self)
        self.tokens.moved.connect(self.viewport().update)
        self.tokens.walked.connect(self._announce)
        self.tokens.chosen.connect(self._choose_alternative)
        self.legend = ShadingLegend(self)
        self.actions_row = MessageActions(self.viewport())
        self.actions_row.chosen.connect(self._act)
        self._frame = QTimer(self, singleShot=True, interval=FRAME_MS)
        self._frame.timeout.connect(self._show_waiting)
        self._copied_for = QTimer(self, singleShot=True, interval=COPIED_MS)
        self._copied_for.timeout.connect(self._forget_copied)

    # What is shown

    def show_messages(self, messages: Sequence[ShownMessage]) -> None:
        """Show exactly these, the end of them in sight."""
        self._forget()
        style, width = self._style(), self.viewport().width()
        self.column.clear([MessageItem(shown, style, width) for shown in messages])
        self._current = self._hovered = -1
        self.forget_anchor()
        self.scroll_to_end()

    def add_message(self, shown: ShownMessage) -> None:
        """Show one more below the others, and its end."""
        self.column.append(MessageItem(shown, self._style(), self.viewport().width()))
        self.scroll_to_end()

    def begin_reply(self, shown: ShownMessage) -> None:
        """Show a message that is about to be written; what it says already is what is continued."""
        self.add_message(shown)
        self._written = self.column.items[-1]
        self._written.is_written = True
        self.tokens.can_choose = False
        self._place_actions()

    def write(self, events: Sequence[TokenWritten]) -> None:
        """Add tokens to the reply that was begun. They are seen within a few frames."""
        self._waiting.extend(events)
        if not self._frame.isActive():
            self._frame.start()

    def end_reply(self, shown: ShownMessage) -> None:
        """Show the message as it was kept in place of the one that was being written."""
        self._show_waiting()
        written, self._written = self._written, None
        if written is None:
            return
        self.tokens.close()
        self.tokens.can_choose = self._can_write()
        written.replace(shown)
        self.column.forget_places()
        self.lay_out()
        self._announce(f"{written.caption}: {shown.message.content[:READ_OUT]}")

    def mark_passages(self, message_id: str, passages: Sequence[tuple[int, int]]) -> None:
        """Underline these characters of a message: they stand in the documents."""
        for item in self.column.items:
            if item.shown.message.id == message_id:
                item.mark(tuple(passages))
        self.lay_out()

    # How it is shown

    def set_plain_text(self, plain: bool) -> None:
        """Show the text as it was written, or as the Markdown that it may be."""
        self._plain = plain
        self._restyle()

    def set_shading(self, shading: Shading) -> None:
        """Colour the tokens of replies by their "probability" or the "entropy" of their places; or "none"."""
        self._shading = shading
        self.legend.show_shading(shading)
        self._restyle()

    def set_font_size(self, points: float) -> None:
        """The size of all text, in points."""
        font = self.font()
        font.setPointSizeF(points)
        self.setFont(font)

    def set_can_reply(self, can_reply: bool) -> None:
        """Whether there is a model that can write."""
        self._can_reply = can_reply
        self.tokens.can_choose = self._can_write()
        self._place_actions()

    def current_id(self) -> str:
        """The message that has the keyboard; the last one without."""
        if not self.column.items:
            return ""
        return self.column.items[self._current].shown.message.id

    def _style(self) -> DocumentStyle:
        return DocumentStyle(self.font(), self._plain, self._shading)

    def _restyle(self) -> None:
        self.tokens.close()
        self.column.set_style(self._style())
        self.selection.clear()
        self.lay_out()

    def _forget(self) -> None:
        self._end_edit()
        self.tokens.close()
        self._frame.stop()
        self._waiting.clear()
        self._written = None
        self._pointed_at = None
        self.selection.clear()

    @Slot()
    def _show_waiting(self) -> None:
        """Lay out what came since the last time; the next time is the later, the longer this took."""
        events, self._waiting = self._waiting, []
        self._frame.stop()
        if self._written is None or not events:
            return
        clock = QElapsedTimer()
        clock.start()
        for event in events:
            if event.details is not None:
                self._written.spans.add(event.details)
        self._written.grow("".join(event.text for event in events))
        self.column.forget_places()
        self.lay_out()
        self._frame.setInterval(max(FRAME_MS, IDLE_SHARE * clock.elapsed()))

    def _announce(self, text: str) -> None:
        """Have a screen reader say it."""
        self.setAccessibleDescription(text)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    # What can be done with a message

    def placed(self) -> None:
        self.legend.move(self.viewport().width() - self.legend.width() - SMALL, SMALL)
        self._place_actions()
        self._place_editor()

    def marks(self) -> Marks:
        current = self._current if self.hasFocus() or self._row_has_focus() else -1
        return Marks(self.selection.span(), current, self.tokens.marked(), self._copied, self._pointed_at)

    def _row_has_focus(self) -> bool:
        focus = self.focusWidget()
        return focus is not None and self.actions_row.isAncestorOf(focus) and focus.hasFocus()

    def _offered(self) -> int:
        """The message whose buttons are shown, or -1."""
        if self._row_has_focus() or (self._hovered < 0 and self.hasFocus()):
            return self._current
        return self._hovered

    def _place_actions(self) -> None:
        number = self._offered()
        row = self.actions_row
        if not 0 <= number < len(self.column.items) or number == self._edited:
            row.hide()
            return
        item = self.column.items[number]
        if item is self._written:
            row.hide()
            return
        row.show_message(item.shown, can_write=self._can_write(), why_not=self._why_not())
        bubble = item.bubble()
        left = bubble.right() - row.width() if item.is_user else bubble.left()
        top = self.column.top(number) + bubble.bottom() + item.remarks_height
        row.move(max(0, round(left)), round(top - self.verticalScrollBar().value()) + 2)
        row.show()

    def _can_write(self) -> bool:
        return self._can_reply and self._written is None

    def _why_not(self) -> str:
        return WRITING if self._written is not None else NO_MODEL

    @Slot(str)
    def _act(self, name: str) -> None:
        number = self._offered()
        if number >= 0:
            self._do(name, number)

    def _do(self, name: str, number: int) -> None:
        """Do one of `ACTIONS` with a message."""
        message = self.column.items[number].shown.message
        requests = {
            "regenerate": self.regenerate_requested,
            "continue": self.continue_requested,
            "seen": self.seen_requested,
        }
        if name == "copy":
            QGuiApplication.clipboard().setText(self.column.items[number].text)
        elif name == "edit":
            self._begin_edit(number)
        elif name == "inspect":
            self.inspect_requested.emit(message.id, -1)
        elif name in (PREVIOUS, NEXT):
            self.version_requested.emit(message.id, 1 if name == NEXT else -1)
        else:
            requests[name].emit(message.id)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        if not self.column.items:
            return
        point = self.in_column(self.viewport().mapFromGlobal(event.globalPos()))
        number = self.column.item_at(point.y()) if by_mouse else self._current
        self._open_menu(number, point if by_mouse else None, event.globalPos())

    def _open_menu(self, number: int, point: QPointF | None, at: QPoint) -> None:
        """Offer what can be done with a message, and with the place in it that was pointed at."""
        if not -len(self.column.items) <= number < len(self.column.items):
            return
        number %= len(self.column.items)
        item = self.column.items[number]
        menu = QMenu(self, objectName="messageMenu")
        if self.selection.span() is not None:
            menu.addAction("Copy selected text", self.copy)
            menu.addSeparator()
        fill_menu(menu, item.shown, can_write=self._can_write())
        found = self.column.character_at(point) if point is not None else None
        if found is not None:
            here = menu.addAction("Inspect here")
            here.setObjectName("inspectHereAction")
            here.triggered.connect(partial(self.inspect_requested.emit, item.shown.message.id, found[1]))
        self._add_code_blocks(menu, item)
        chosen = menu.exec(at)
        if chosen is not None and chosen.data():
            self._do(chosen.data(), number)
        menu.deleteLater()

    def _add_code_blocks(self, menu: QMenu, item: MessageItem) -> None:
        """For those without a mouse: each code block of a message can be copied."""
        blocks = [unit for unit in item.units if unit.head]
        for number, unit in enumerate(blocks, start=1):
            name = language_of(unit.segment) or "code"
            entry = menu.addAction(f"Copy code block {number} ({name})")
            entry.triggered.connect(partial(self.copy_code, item, unit))

    def copy_code(self, item: MessageItem, unit: Unit) -> None:
        """Put a whole code block on the clipboard."""
        first = item.units.index(unit)
        last = next(n for n in range(first, len(item.units)) if item.units[n].segment.closes)
        code = item.text[unit.segment.first : item.units[last].segment.last]
        QGuiApplication.clipboard().setText(code)
        self._copied = unit
        self._copied_for.start()
        self.viewport().update()

    @Slot()
    def _forget_copied(self) -> None:
        self._copied = None
        self.viewport().update()

    @Slot(int, int, int)
    def _choose_alternative(self, number: int, token: int, token_id: int) -> None:
        self.alternative_chosen.emit(self.column.items[number].shown.message.id, token, token_id)

    # Editing in place

    def _begin_edit(self, number: int) -> None:
        self._end_edit()
        if not self._can_write():
            return
        item = self.column.items[number]
        self._edited = number
        self._editor = MessageEdit(item.shown.message.content, sends=item.is_user, parent=self.viewport())
        self._editor.saved.connect(self._save_edit)
        self._editor.cancelled.connect(self._end_edit)
        item.editor_height = self._editor.wanted_height()
        self.column.forget_places()
        self._follows = False
        self.show_part(self.column.top(number), self.column.top(number) + item.height)
        self.lay_out()
        self._editor.show()
        self._editor.text.setFocus()

    @Slot(str)
    def _save_edit(self, text: str) -> None:
        message = self.column.items[self._edited].shown.message
        self._end_edit()
        if text != message.content or message.role == "user":
            self.edit_requested.emit(message.id, text)

    @Slot()
    def _end_edit(self) -> None:
        if self._editor is None:
            return
        editor, self._editor = self._editor, None
        self.column.items[self._edited].editor_height = 0
        self._edited = -1
        had_focus = editor.isAncestorOf(editor.window().focusWidget() or self)
        editor.hide()
        editor.deleteLater()
        if had_focus:
            self.setFocus()
        self.column.forget_places()
        self.lay_out()

    def _place_editor(self) -> None:
        if self._editor is not None:
            bubble = self.column.items[self._edited].bubble()
            bubble.translate(0, self.column.top(self._edited) - self.verticalScrollBar().value())
            self._editor.setGeometry(bubble.toRect().adjusted(SMALL, SMALL, -SMALL, -SMALL))

    # The mouse

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self.column.items:
            point = self.in_column(event.position())
            self._hovered = self.column.item_at(point.y())
            self.tokens.point_at(None if self.is_selecting else self.column.character_at(point))
            self._point_at(self._button_at(point))
            self._place_actions()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        code = self._button_at(self.in_column(event.position())) if self.column.items else None
        if code is not None:
            self.copy_code(*code)
        else:
            super().mousePressEvent(event)
        if self.column.items:
            self._current = self.column.item_at(self.in_column(event.position()).y())
            self.lay_out()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        clicked = self.is_selecting and self.selection.span() is None
        super().mouseReleaseEvent(event)
        if clicked and not event.modifiers():
            self.tokens.pin(self.column.character_at(self.in_column(event.position())))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = -1
        self._point_at(None)
        self.tokens.point_at(None)
        self._place_actions()

    def _button_at(self, point: QPointF) -> tuple[MessageItem, Unit] | None:
        """The code block whose button is at a point of the column."""
        number = self.column.item_at(point.y())
        item = self.column.items[number]
        place = self.column.unit_at(number, point.y())
        if item.editor_height or not self.artist.copy_button(number, place).contains(point):
            return None
        return item, item.units[place]

    def _point_at(self, code: tuple[MessageItem, Unit] | None) -> None:
        unit = code[1] if code is not None else None
        if unit is not self._pointed_at:
            self._pointed_at = unit
            shape = Qt.CursorShape.ArrowCursor if unit is None else Qt.CursorShape.PointingHandCursor
            self.viewport().setCursor(shape)
            self.viewport().update()

    # The keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.tokens.take_key(event):
            return
        alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
        if alt and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._go_to(self._current + (1 if event.key() == Qt.Key.Key_Down else -1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open_menu(self._current, None, self._menu_corner())
        elif event.key() == BEGIN_KEY and not event.modifiers():
            self.tokens.walk(self._current)
        else:
            super().keyPressEvent(event)

    def _go_to(self, number: int) -> None:
        """Give the keyboard to a message, and show it."""
        if not self.column.items:
            return
        self._current = max(0, min(number, len(self.column.items) - 1))
        item = self.column.items[self._current]
        top = self.column.top(self._current)
        self.show_part(top, top + item.height)
        self.lay_out()
        self._announce(f"{item.caption}: {item.text[:READ_OUT]}")

    def _menu_corner(self) -> QPoint:
        if not self.column.items:
            return self.mapToGlobal(QPoint())
        bubble = self.column.items[self._current].bubble()
        top = self.column.top(self._current % len(self.column.items)) - self.verticalScrollBar().value()
        return self.viewport().mapToGlobal(QPoint(round(bubble.left()), max(0, round(top + bubble.top()))))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self._current < 0 and self.column.items:
            self._current = len(self.column.items) - 1
        self._place_actions()
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._place_actions()
        self.viewport().update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_frame"):
            self._restyle()
