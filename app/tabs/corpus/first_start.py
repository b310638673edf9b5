"""What the Corpus tab shows before there is a document: two doors."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.widgets.empty_state import Door, EmptyState, door_button


class FirstStart(EmptyState):
    """Asks whether to begin with the sample or with the user's own files.

    Signals:
        sample_requested: "Try the sample" was chosen.
        files_requested: "Add your documents" was chosen.
    """

    sample_requested = Signal()
    files_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            "Make a language model of your own",
            "It learns from documents. Begin with a small made-up world, or with your own files.",
            parent,
        )
        self.sample_button = door_button(
            "Try the sample",
            "sampleDoor",
            "sample",
            "Write the sample corpus, train on it, talk with it",
            True,
        )
        self.sample_button.clicked.connect(self.sample_requested)
        self.files_button = door_button(
            "Add your documents", "addDoor", "add", "Choose files to learn from (Ctrl+O)", False
        )
        self.files_button.clicked.connect(self.files_requested)
        self.add_door(
            Door(
                "sample",
                "The meadow",
                "Stories, questions and answers about a small invented world. "
                "A first model learns it in minutes, and then you talk with it.",
                self.sample_button,
            )
        )
        self.add_door(
            Door(
                "corpus",
                "Your documents",
                "Text, Markdown, source code, PDFs, and scans by OCR. "
                "Choose files, or drop files and folders anywhere on this page.",
                self.files_button,
            )
        )
