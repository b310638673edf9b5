"""A prompt and a reply to be read beside another one, with what differs marked, not by colour alone."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.tabs.chat.view.source_map import shown
from app.widgets.text_difference import Piece, common_length
from app.widgets.text_look import look, marked
from app.widgets.theme import colours
from core.tasks.chat.compare_replies import ComparedPrompt


class ComparedText(QTextEdit):
    """Read-only. Grows while a reply comes; follows it only while the user looks at the end.

    Signals:
        walked: -1 or +1, for Left or Right; only of a text that `walks`.
    """

    walked = Signal(int)

    def __init__(self, name: str, title: str, parent: QWidget | None = None, *, walks: bool = False) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setToolTip("What the model writes for the prompt")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self._walks = walks
        self._prompt = self.reply = ""
        self._pieces: Sequence[Piece] | None = None
        self._parts_at: int | None = None

    def begin(self, prompt: str) -> None:
        """Show a prompt whose reply follows."""
        self._prompt, self.reply = prompt, ""
        self._pieces, self._parts_at = None, None
        self._write_all()

    def write(self, text: str) -> None:
        """Let the reply grow."""
        follows = self._at_end()
        self._pen().insertText(shown(text), look("accent") if self._parts_at is None else _apart())
        self.reply += text
        self._follow(follows)

    def correct(self, reply: str) -> None:
        """The reply is this: of a stop text, the beginning is taken back."""
        if reply != self.reply:
            self.reply = reply
            self._write_all()

    def part_at(self, character: int | None) -> None:
        """Mark the reply from where it parts from the other one; None where it does not so far."""
        if character != self._parts_at:
            self._parts_at = character
            self._write_all()

    def show_pieces(self, prompt: str, pieces: Sequence[Piece]) -> None:
        """Show a whole reply, with what was added to another one and what was removed."""
        self._prompt, self._pieces = prompt, pieces
        self.reply = "".join(text for mark, text in pieces if mark != "removed")
        place = self.verticalScrollBar().value()
        self._write_all()
        self.verticalScrollBar().setValue(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        directions: dict[int, int] = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if self._walks and event.key() in directions and not event.modifiers():
            self.walked.emit(directions[event.key()])
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_prompt"):
            self._write_all()

    def _write_all(self) -> None:
        follows = self._at_end()
        self.clear()
        pen = self._pen()
        pen.insertText(shown(self._prompt), look("muted"))
        if self._pieces is not None:
            for mark, text in self._pieces:
                pen.insertText(shown(text), marked(mark))
        else:
            parts_at = len(self.reply) if self._parts_at is None else self._parts_at
            pen.insertText(shown(self.reply[:parts_at]), look("accent"))
            pen.insertText(shown(self.reply[parts_at:]), _apart())
        self._follow(follows)

    def _pen(self) -> QTextCursor:
        pen = QTextCursor(self.document())
        pen.movePosition(QTextCursor.MoveOperation.End)
        return pen

    def _at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum()

    def _follow(self, follows: bool) -> None:
        if follows:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())


def shown_prompt(prompt: ComparedPrompt) -> str:
    """A text that is continued in the same line, a message that is answered in the next one."""
    return f"{prompt.text}\n" if prompt.answers else prompt.text


def parting(first: str, second: str, *, whole: bool) -> int | None:
    """The first character in which two replies differ; None where they are alike so far.

    Args:
        whole: Both have ended, so that one which goes on where the other has ended is another one.
    """
    place = common_length(first, second)
    if place < min(len(first), len(second)):
        return place
    return place if whole and len(first) != len(second) else None


def _apart() -> QTextCharFormat:
    made = look("text")
    made.setBackground(QColor(colours().notice_soft))
    made.setFontUnderline(True)
    return made
