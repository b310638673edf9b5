"""Taking back what was done to a conversation: every step is another message at its end."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoCommand, QUndoStack

MOST_STEPS = 200


class LeafMove(QUndoCommand):
    """Puts the leaf in front that was there before, and again the one that came after."""

    def __init__(self, text: str, before: str, after: str, go_to: Callable[[str], None]) -> None:
        super().__init__(text)
        self._before, self._after, self._go_to = before, after, go_to
        self._done = True  # it is pushed behind the deed

    def undo(self) -> None:
        self._go_to(self._before)

    def redo(self) -> None:
        if self._done:
            self._done = False
        else:
            self._go_to(self._after)


def new_undo_stack(parent: QObject) -> QUndoStack:
    stack = QUndoStack(parent)
    stack.setUndoLimit(MOST_STEPS)
    return stack
