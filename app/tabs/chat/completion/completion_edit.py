"""A completion: one text that the user and the model write together, editable anywhere.

What the model wrote stands on another background, with a bar at the left of its lines for those who do not see that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QWidget

from app.tabs.chat.actions import leaves_to_window
from app.tabs.chat.completion.completion_paint import paint_found, paint_parts
from app.tabs.chat.completion.completion_text import CompletionText
from app.tabs.chat.completion.completion_tokens import CompletionTokens
from app.tabs.chat.completion.generated_parts import Part, n_units, tokens_of
from app.tabs.chat.completion.passage_marks import PassageMarks
from app.tabs.chat.view.document_style import Shading
from app.tabs.chat.view.shading_legend import ShadingLegend
from app.tabs.chat.view.text_matches import TextMatches
from app.widgets.composing import guard_enter
from app.widgets.theme import LARGE, SMALL
from core.conversations.message import Message
from core.conversations.packed_tokens import ids_of, texts_of, with_token
from core.events.base import Event
from core.events.replies import ReplyEnded, TokenDetails, TokenWritten
from core.wording import counted

ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a model goes on: the text that it reads, and tokens with which its part begins already."""

    text: str
    tokens: Sequence[TokenDetails] = ()

    @property
    def written(self) -> tuple[int, ...]:
        """The ids of the tokens, as `complete` takes them."""
        return ids_of(self.tokens)


class CompletionEdit(QPlainTextEdit):
    """The text of a completion. While a model writes, it can be read and copied, but not edited.

    Attributes:
        matches: What is marked as found.

    Signals:
        changed: The user edited the text.
        continue_requested: The model should go on at the end of the text (Alt+Enter): see `at_end`.
        continue_here_requested: It should go on at the cursor, and what stands behind that give way: see `at_cursor`.
        regenerate_requested: The last generated part should be written anew (Ctrl+Enter): see `before_last`.
        version_requested: -1 or +1: the version of the last generated part before or after this one.
        stop_requested: The model should write no further (Esc).
        alternative_chosen: The number of a token and the id of another one that should stand there: see `with_alternative`.
        inspect_requested: A character of the text: the user wants to see how the model came to what stands there.
    """

    changed = Signal()
    continue_requested = Signal()
    continue_here_requested = Signal()
    regenerate_requested = Signal()
    version_requested = Signal(int)
    stop_requested = Signal()
    alternative_chosen = Signal(int, int)
    inspect_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("completionEdit")
        self.setAccessibleName("Text")
        guard_enter(self)
        self.setToolTip("The text that the model continues: Alt+Enter")
        self.setPlaceholderText("Write the beginning of a text")
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(LARGE)  # room for the bar
        self._generating = False
        self._begun_with = ""  # what the generated part begins with, of an earlier version
        self._shading: Shading = "none"
        self.matches = TextMatches()
        self._text = CompletionText(self.document(), self)
        self._text.edited.connect(self._report_edit)
        self.token_popup = CompletionTokens(self)
        self.token_popup.chosen.connect(self.alternative_chosen)
        self.legend = ShadingLegend(self)
        self._passages = PassageMarks(self)
        self._text.edited.connect(self._passages.follow_edit)

    # What it holds

    def text(self) -> str:
        return self._text.text()

    def generated(self) -> tuple[tuple[int, int], ...]:
        """The characters that a model wrote, from and to, as `Message.generated` has them."""
        return self._text.generated()

    def tokens(self) -> tuple[TokenDetails, ...]:
        """Those of the last generated part, as `Message.tokens` has them."""
        return tuple(tokens_of(self._text.parts[-1])) if self._text.parts else ()

    # Where a model can go on

    def at_end(self) -> Beginning:
        return Beginning(self.text())

    def at_cursor(self) -> Beginning:
        return Beginning(self._before(self.textCursor().position()))

    def before_last(self) -> Beginning | None:
        """Where the last generated part begins; None where there is none."""
        parts = self._text.parts
        return Beginning(self._before(parts[-1].start)) if parts else None

    def with_alternative(self, token_number: int, token_id: int) -> Beginning:
        """Where a token gives way to one of its alternatives; numbers are those of `alternative_chosen`."""
        part, number = self._token(token_number)
        details = part.tokens.details
        chosen = next(one for one in details[number].alternatives if one.token_id == token_id)
        rank = 1 + details[number].alternatives.index(chosen)
        token = TokenDetails(
            token_id,
            chosen.text,
            chosen.probability,
            rank,
            details[number].entropy,
            details[number].alternatives,
        )
        return Beginning(self._before(part.origin), with_token(details.packed().first(number), token))

    # What the controller shows

    def show_message(self, message: Message | None) -> None:
        """Begin with a snapshot, or with an empty text. Nothing before it can be undone.

        The view and the cursor stay where they are, as far as the text there is the same.
        """
        shown = message or Message("", "text", "")
        self._passages.clear()
        cursor, bar = self.textCursor(), self.verticalScrollBar()
        position, value = cursor.position(), bar.value()
        top = self.cursorForPosition(QPoint()).position()
        same = self._text.load(shown.content, shown.generated, shown.tokens)
        if position >= same:
            cursor.setPosition(same)
            self.setTextCursor(cursor)
        if top <= same:
            bar.setValue(value)
        self.viewport().update()
        self._describe()

    def show_version(self, message: Message) -> None:
        """Put another snapshot in the place of the text, which undo brings back."""
        follows = self._at_bottom()
        self._passages.clear()
        self._text.replace(message.content, message.generated, message.tokens)
        self._follow(follows)
        self._describe()

    def begin_generation(self, beginning: Beginning | None = None) -> None:
        """A model goes on at the end, or at another place: what stands behind that gives way until undo.

        All that is changed until `end_generation` is one step that can be undone.
        """
        follows = self._at_bottom()
        start = beginning or self.at_end()
        self._generating = True
        self._passages.clear()
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._text.begin(start.text, start.tokens)
        self.token_popup.can_choose = False
        self.token_popup.show_parts(())
        self._begun_with = "".join(texts_of(start.tokens))
        self._follow(follows or beginning is not None)

    def write(self, events: Sequence[Event]) -> None:
        """Let the generated part grow; its end (`ReplyEnded`) takes back what belongs to a stop text."""
        follows = self._at_bottom()
        written = [event for event in events if isinstance(event, TokenWritten)]
        if written:
            self._text.write(written)
        for event in events:
            if isinstance(event, ReplyEnded):
                self._text.correct(self._begun_with + event.text)
        self._follow(follows)

    def end_generation(self) -> None:
        """The model is done; the text is the user's to edit again."""
        self._text.end()
        self._generating = False
        self.token_popup.can_choose = True
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextEditorInteraction)
        self._describe()

    def mark_passages(self, content: str, passages: Sequence[tuple[int, int]]) -> None:
        """Underline these characters of a text, where the same still stand here: they are in the documents."""
        text = self.text()
        same = [(start, end) for start, end in passages if text[start:end] == content[start:end]]
        self._passages.show(text, same)

    def set_shading(self, shading: Shading) -> None:
        """Shade the model's tokens by "probability" or "entropy", or not ("none")."""
        self._shading = shading
        self.legend.show_shading(shading)
        room = 0 if shading == "none" else self.legend.height() + SMALL
        self.setViewportMargins(0, room, 0, 0)  # it stands above the text, not on it
        self._place_legend()
        self.viewport().update()

    # What the user does

    def event(self, event: QEvent) -> bool:
        if leaves_to_window(self, event):
            event.ignore()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        key = event.key()
        if event.matches(QKeySequence.StandardKey.Undo):
            self.undo()
        elif event.matches(QKeySequence.StandardKey.Redo):
            self.redo()
        elif key in ENTER and held == Qt.KeyboardModifier.AltModifier:
            self._ask_to_continue()
        elif key in ENTER and held == Qt.KeyboardModifier.ControlModifier:
            self._ask_to_regenerate()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and held == Qt.KeyboardModifier.AltModifier:
            if not self._generating:
                self.version_requested.emit(-1 if key == Qt.Key.Key_Left else 1)
        elif key == Qt.Key.Key_Escape and self.token_popup.is_open:
            self.token_popup.close()
        elif key == Qt.Key.Key_Escape and self._generating:
            self.stop_requested.emit()
        elif key == Qt.Key.Key_Space and held == Qt.KeyboardModifier.ControlModifier:
            self.token_popup.open_at_cursor()
        else:
            super().keyPressEvent(event)

    @Slot()
    def undo(self) -> None:
        if not self._generating:
            self._text.restore(super().undo)

    @Slot()
    def redo(self) -> None:
        if not self._generating:
            self._text.restore(super().redo)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Only its text."""
        if source.hasText():
            self.insertPlainText(source.text())
            self.ensureCursorVisible()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(event.pos()))
        menu = self.context_menu()
        menu.exec(event.globalPos())
        menu.deleteLater()

    def context_menu(self) -> QMenu:
        """What can be done where the cursor stands."""
        menu = self.createStandardContextMenu()
        own = {"edit-undo": self.undo, "edit-redo": self.redo}
        for action in menu.actions():
            if action.objectName() in own:
                action.triggered.disconnect()
                action.triggered.connect(own[action.objectName()])
        menu.addSeparator()
        for title, name, slot in (
            ("Continue from &here", "continueHereAction", self._ask_to_continue_here),
            ("&Inspect here", "inspectHereAction", self._ask_to_inspect),
        ):
            action = menu.addAction(title, slot)
            action.setObjectName(name)
            action.setEnabled(not self._generating)
        return menu

    @Slot()
    def _ask_to_continue_here(self) -> None:
        self.continue_here_requested.emit()

    @Slot()
    def _ask_to_inspect(self) -> None:
        self.inspect_requested.emit(len(self._before(self.textCursor().position())))

    def _ask_to_continue(self) -> None:
        if not self._generating:
            self.continue_requested.emit()

    def _ask_to_regenerate(self) -> None:
        if not self._generating and self._text.parts:
            self.regenerate_requested.emit()

    # What is shown

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_parts(self, self._text.parts, event.rect(), self._shading)
        super().paintEvent(event)
        if self.matches.words:
            paint_found(self, self.matches, event.rect())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._passages.restyle()
            self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_legend()

    def _place_legend(self) -> None:
        corner = self.viewport().geometry().topRight()
        self.legend.move(corner.x() - self.legend.width() - SMALL, corner.y() - self.legend.height())

    @Slot()
    def _report_edit(self) -> None:
        self._describe()
        self.changed.emit()

    def _describe(self) -> None:
        """Say what the background shows."""
        self.token_popup.show_parts(self._text.parts)
        by_model = sum(part.end - part.start for part in self._text.parts)
        total = self.document().characterCount() - 1
        self.setAccessibleDescription(
            f"{counted(total, 'character')}, {by_model:,} of them by the model" if by_model else ""
        )

    def _at_bottom(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum()

    def _follow(self, follows: bool) -> None:
        if follows:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    # Places

    def _before(self, position: int) -> str:
        text = self.text()
        if n_units(text) == len(text):
            return text[:position]
        return text.encode("utf-16-le", "surrogatepass")[: 2 * position].decode("utf-16-le")

    def _token(self, token_number: int) -> tuple[Part, int]:
        for part in self._text.parts:
            if token_number < len(part.tokens.details):
                return part, token_number
            token_number -= len(part.tokens.details)
        raise IndexError("there is no such token")
