"""The text of a completion as a document: what a model wrote in it, and a history in which a generation is one step.

Positions are those of a `QTextDocument`: UTF-16 code units. Texts and spans that go in or out count characters.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument, QTextFormat

from app.tabs.chat.completion.generated_parts import Part, Parts, WrittenTokens, after_edit, n_units, without
from app.widgets.text_difference import common_length
from core.conversations.packed_tokens import texts_of
from core.events.replies import TokenDetails, TokenWritten

# Each takes one position in the document and would be read back as another character.
_LINE_BREAKS = str.maketrans(
    {"\r": "\n", "\u2028": "\n", "\u2029": "\n", "\ufdd0": "\ufffd", "\ufdd1": "\ufffd"}
)

GENERATION = QTextFormat.Property.UserProperty.value + 1


class CompletionText(QObject):
    """Keeps track of who wrote what in a document that the user edits.

    Signals:
        edited: The user, or undo, changed the text.
    """

    edited = Signal()

    def __init__(self, document: QTextDocument, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.parts: Parts = ()
        self._kept: dict[int, Parts] = {0: ()}  # by the steps that can be undone
        self._own = False  # what changes now is no edit by the user
        self._generations = 0
        self._joins = False  # what is written next belongs to the undo step before it
        document.contentsChange.connect(self._follow)

    def text(self) -> str:
        """As it stands, with no-break spaces, which `toPlainText` would change."""
        return self._document.toRawText().translate(_LINE_BREAKS)

    def generated(self) -> tuple[tuple[int, int], ...]:
        """The characters that a model wrote, from and to; each generation by itself."""
        text = self.text()
        if n_units(text) == len(text):
            return tuple((part.start, part.end) for part in self.parts)
        units = text.encode("utf-16-le", "surrogatepass")
        return tuple((_characters(units, part.start), _characters(units, part.end)) for part in self.parts)

    # What replaces the text

    def load(self, text: str, generated: Sequence[tuple[int, int]], tokens: Sequence[TokenDetails]) -> int:
        """Begin with a text of which nothing can be undone.

        Args:
            tokens: Those of the last generated part, where they are known.

        Returns:
            The position up to which the text is the one that stood there before.
        """
        same = self.replace(text, generated, tokens)
        self._document.clearUndoRedoStacks()
        self._kept.clear()
        self._set_parts(self.parts)
        return same

    def replace(self, text: str, generated: Sequence[tuple[int, int]], tokens: Sequence[TokenDetails]) -> int:
        """Put another text in its place, as one step that can be undone; what both begin with stays as it is.

        Returns:
            The position up to which that is.
        """
        shown, before = text.translate(_LINE_BREAKS), self.text()
        same = common_length(before, shown)
        position = n_units(before[:same])
        pen = self._pen(position)
        self._own = True
        pen.beginEditBlock()
        pen.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        pen.insertText(shown[same:])
        pen.endEditBlock()
        self._own = False
        self._set_parts(_parts_of(shown, generated, tokens))
        return position

    # A generation

    def begin(self, text: str, tokens: Sequence[TokenDetails]) -> None:
        """Cut the text to what it begins with, and let a generated part begin there with these tokens."""
        position = n_units(text)
        self._joins = False
        pen = self._pen(position)
        if not pen.atEnd():
            self._begin_edit(pen)
            pen.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            pen.removeSelectedText()
            self._end_edit(pen)
        part = Part(position, position, WrittenTokens(tokens), position)
        self._set_parts((*without(self.parts, position), part))
        self._write("".join(texts_of(tokens)))

    def write(self, events: Sequence[TokenWritten]) -> None:
        """Let the part that was begun grow."""
        tokens = [
            replace(event.details, text=event.text)
            if event.details is not None
            else TokenDetails(event.token_id, event.text, event.probability)
            for event in events
        ]
        for token in tokens:
            self.parts[-1].tokens.add(token)
        self._write("".join(event.text for event in events))

    def correct(self, text: str) -> None:
        """See that the part that was begun is this text: of a stop text, the beginning is taken back."""
        part, shown = self.parts[-1], text.translate(_LINE_BREAKS)
        written = _behind(self.text(), part.start)
        same = common_length(written, shown)
        if written != shown:
            pen = self._pen(part.start + n_units(shown[:same]))
            self._begin_edit(pen)
            pen.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            pen.insertText(shown[same:])
            self._end_edit(pen)
            self._set_parts((*self.parts[:-1], replace(part, end=part.start + n_units(shown))))

    def end(self) -> None:
        """The part that was begun is whole. A part of nothing is none."""
        if self._joins:  # something was changed
            self._separate()
        self._joins = False
        self._set_parts(tuple(part for part in self.parts if part.end > part.start))

    def _separate(self) -> None:
        """Let Qt not merge what is typed next into this step of undo: it merges what stands side by side."""
        pen = self._pen(self._document.characterCount() - 1)
        self._generations += 1
        mark = QTextCharFormat()
        mark.setProperty(GENERATION, self._generations)
        self._begin_edit(pen)
        pen.movePosition(QTextCursor.MoveOperation.PreviousCharacter, QTextCursor.MoveMode.KeepAnchor)
        pen.mergeCharFormat(mark)
        self._end_edit(pen)

    def _write(self, text: str) -> None:
        part = self.parts[-1]
        if text:
            pen = self._pen(part.end)
            self._begin_edit(pen)
            pen.insertText(text.translate(_LINE_BREAKS))
            self._end_edit(pen)
        self._set_parts((*self.parts[:-1], replace(part, end=part.end + n_units(text))))

    # History

    def restore(self, step: Callable[[], None]) -> None:
        """Undo or redo; `step` is what does so to the document."""
        self._own = True
        step()
        self._own = False
        self._set_parts(self._kept.get(self._document.availableUndoSteps(), ()))
        self.edited.emit()

    @Slot(int, int, int)
    def _follow(self, position: int, removed: int, added: int) -> None:
        if not self._own:
            self._set_parts(after_edit(self.parts, position, removed, added))
            self.edited.emit()

    def _set_parts(self, parts: Parts) -> None:
        self.parts = parts
        kept = tuple(part for part in parts if part.end > part.start)  # one may only just have been begun
        self._kept[self._document.availableUndoSteps()] = kept

    # Editing

    def _pen(self, position: int) -> QTextCursor:
        pen = QTextCursor(self._document)
        pen.setPosition(min(position, self._document.characterCount() - 1))
        return pen

    def _begin_edit(self, pen: QTextCursor) -> None:
        self._own = True
        if self._joins:
            pen.joinPreviousEditBlock()
        else:
            pen.beginEditBlock()
        self._joins = True

    def _end_edit(self, pen: QTextCursor) -> None:
        pen.endEditBlock()
        self._own = False


def _parts_of(text: str, generated: Sequence[tuple[int, int]], tokens: Sequence[TokenDetails]) -> Parts:
    """Parts from spans of characters; the last one has its tokens where they make up its text."""
    parts = []
    for start, end in generated:
        has_tokens = (start, end) == generated[-1] and "".join(texts_of(tokens)) == text[start:end]
        written = WrittenTokens(tokens if has_tokens else ())
        first = n_units(text[:start])
        parts.append(Part(first, first + n_units(text[start:end]), written, first))
    return tuple(parts)


def _behind(text: str, position: int) -> str:
    """The text from a position on."""
    return text.encode("utf-16-le", "surrogatepass")[2 * position :].decode("utf-16-le", "surrogatepass")


def _characters(units: bytes, position: int) -> int:
    return len(units[: 2 * position].decode("utf-16-le", "surrogatepass"))
