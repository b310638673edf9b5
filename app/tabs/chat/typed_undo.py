"""Whose Ctrl+Z it is: the text field's as long as something that was typed can be undone, the conversation's then."""

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QPlainTextEdit


def leaves_to_window(field: QPlainTextEdit, event: QEvent) -> bool:
    """Whether a field asked if it wants a key should answer no: there is nothing in it to undo, or redo."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    typed = field.document()
    if event.matches(QKeySequence.StandardKey.Undo):
        return not typed.isUndoAvailable()
    return event.matches(QKeySequence.StandardKey.Redo) and not typed.isRedoAvailable()
