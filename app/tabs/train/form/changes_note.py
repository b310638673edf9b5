"""What the changes to a run that goes on will do, said above the button that resumes it."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.widgets.label import Label
from core.wording import counted

MOST_SHOWN = 2


class ChangesNote(Label):
    """Some lines, gone where nothing changes; the tool tip has all of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(objectName="changesNote", wordWrap=True, visible=False)
        self.setParent(parent)
        self.setAccessibleName("What the changes do")

    def show_changes(self, sentences: Sequence[str]) -> None:
        """The first sentences, and how many more there are."""
        shown, more = list(sentences[:MOST_SHOWN]), len(sentences) - MOST_SHOWN
        if more > 0:
            shown.append(f"And {counted(more, 'more change', 'more changes')}.")
        self.setText("\n".join(shown))
        self.setToolTip("\n".join(sentences))
        self.setVisible(bool(sentences))
