"""What the model wrote at each evaluation, the latest at the bottom."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.widgets.theme import colours
from core.events import SampleWritten

MOST_PARAGRAPHS = 5000


class Samples(QTextEdit):
    """A read-only list of steps and texts. It follows the newest only while the user looks at it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("samplesView")
        self.setReadOnly(True)
        self.setAccessibleName("Samples")
        self.setToolTip("What the model writes after the sample prompt, at each evaluation")
        self.setPlaceholderText("What the model writes at each evaluation appears here.")
        self.document().setMaximumBlockCount(MOST_PARAGRAPHS)
        self.setMinimumHeight(60)
        self._written: list[SampleWritten] = []

    def add_all(self, samples: Sequence[SampleWritten]) -> None:
        """Show what was written next; the newest paragraphs are kept, here and when the colours change."""
        self._written = [*self._written, *samples][-MOST_PARAGRAPHS:]
        for sample in samples[-MOST_PARAGRAPHS:]:
            self._write(sample)

    def forget(self) -> None:
        self._written.clear()
        self.clear()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.clear()
            for sample in self._written:
                self._write(sample)

    def _write(self, sample: SampleWritten) -> None:
        bar = self.verticalScrollBar()
        follow = bar.value() >= bar.maximum()
        pen = QTextCursor(self.document())
        pen.movePosition(QTextCursor.MoveOperation.End)
        if not self.document().isEmpty():
            pen.insertBlock()
        pen.insertText(f"step {sample.step:,}  ", _in(colours().muted))
        pen.insertText(" ".join(sample.prompt.split()), _in(colours().text))
        pen.insertText(" → ", _in(colours().muted))
        pen.insertText(sample.text.strip(), _in(colours().accent))
        if follow:
            bar.setValue(bar.maximum())


def _in(colour: str) -> QTextCharFormat:
    ink = QTextCharFormat()
    ink.setForeground(QColor(colour))
    return ink
