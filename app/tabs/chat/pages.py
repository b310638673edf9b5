"""What the middle of the Chat tab shows: the conversation, the text, or why there is neither yet."""

from PySide6.QtWidgets import QStackedWidget, QWidget

from app.widgets.empty_state import Card, EmptyState, card_button

EXPLAINED = (
    "This model has not trained on conversations: it goes on with the text of a conversation, and seldom answers. "
    "The mode Completion suits it."
)


class ChatPages(QStackedWidget):
    """The pages for no run, no model, a model on its way and a new conversation; `add` takes those with content."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.no_runs = EmptyState("No model yet", "Train one on your documents, and talk with it here.")
        self.train_button = card_button(
            "Go to Train", "trainCardButton", "train", "Open the Train tab", primary=True
        )
        self.no_runs.add_card(
            Card("train", "Train a model", "It takes minutes with the sample corpus.", self.train_button)
        )
        self.opening = EmptyState(
            "Opening the model", "The first one takes longer: PyTorch is loaded with it."
        )
        self.no_model = EmptyState("Which model?", "Choose a run above: its best checkpoint opens.")
        self.begin_chat = EmptyState(
            "Ask something", "This model has trained on conversations: it answers your prompt."
        )
        self.begin_explained = EmptyState("Ask something", EXPLAINED)
        for page in (self.no_runs, self.no_model, self.opening, self.begin_chat, self.begin_explained):
            self.addWidget(page)

    def add(self, page: QWidget) -> None:
        self.addWidget(page)
