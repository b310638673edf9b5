"""What a tab shows in the place of its work with a model, until there is one."""

from PySide6.QtWidgets import QStackedWidget, QWidget

from app.widgets.empty_state import Card, EmptyState, card_button


class ModelPages(QStackedWidget):
    """Pages for no run, no open model, and one on its way; whoever holds them adds the others.

    Attributes:
        train_button: The way to where a model is trained.
    """

    def __init__(self, purpose: str, parent: QWidget | None = None) -> None:
        """`purpose`: What is done with a model here, as the end of a sentence."""
        super().__init__(parent)
        self.no_runs = EmptyState("No model yet", f"Train one on your documents, {purpose} here.")
        self.train_button = card_button(
            "Go to Train", "trainCardButton", "train", "Open the Train tab", primary=True
        )
        card = Card("train", "Train a model", "It takes minutes with the sample corpus.", self.train_button)
        self.no_runs.add_card(card)
        self.opening = EmptyState(
            "Opening the model", "The first one takes longer: PyTorch is loaded with it."
        )
        self.no_model = EmptyState("Which model?", "Select a run above: its best checkpoint opens.")
        self.add(self.no_runs, self.opening, self.no_model)

    def add(self, *pages: QWidget) -> None:
        for page in pages:
            self.addWidget(page)
