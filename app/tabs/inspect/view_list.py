"""The views, and the list of their names by which one is chosen."""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module

from PySide6.QtCore import QModelIndex, QStringListModel, Signal, Slot
from PySide6.QtWidgets import QListView, QWidget

from app.tabs.inspect.view import InspectView
from app.tabs.inspect.view_pane import MakeView
from app.widgets.theme import set_role
from core.inspection.view_kinds import ViewKind

WIDTH_PX = 150
CLASSES = {  # in the order of the list
    "tokens": "tokens.tokens_view.TokensView",
    "embedding": "states.embedding_view.EmbeddingView",
    "attention": "attention.attention_view.AttentionView",
    "hidden": "states.hidden_view.HiddenView",
    "lens": "states.lens_view.LensView",
    "next": "next_token.next_token_view.NextTokenView",
    "plane": "plane.plane_view.PlaneView",
    "blocks": "blocks.blocks_view.BlocksView",
    "arithmetic": "arithmetic.arithmetic_view.ArithmeticView",
    "training": "training.training_view.TrainingView",
    "whatif": "what_if.what_if_view.WhatIfView",
    "patching": "patching.patching_view.PatchingView",
}


class ViewList(QListView):
    """One row for each view.

    Signals:
        chosen: The name of the view that the user came to.
    """

    chosen = Signal(str)

    def __init__(self, kinds: Sequence[ViewKind], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("viewList")
        self.setAccessibleName("Views")
        self.setToolTip("What of the model's computation to look at")
        self.setFixedWidth(WIDTH_PX)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        set_role(self, "plain")
        self._names = [kind.name for kind in kinds]
        self.setModel(QStringListModel([kind.title for kind in kinds], self))
        self.choose(self._names[0])
        self.selectionModel().currentChanged.connect(self._report)

    @property
    def name(self) -> str:
        """Of the view that is chosen."""
        return self._names[self.currentIndex().row()]

    def choose(self, name: str) -> None:
        """Bring a view's row to the front."""
        self.setCurrentIndex(self.model().index(self._names.index(name), 0))

    @Slot(QModelIndex, QModelIndex)
    def _report(self, now: QModelIndex, _before: QModelIndex) -> None:
        self.chosen.emit(self._names[now.row()])


def _made(place: str) -> InspectView:
    """A view whose module is loaded when it comes to the front first: the window stands earlier without all of them."""
    module, _, name = place.rpartition(".")
    view: InspectView = getattr(import_module(f"app.tabs.inspect.{module}"), name)()
    return view


MAKERS: Mapping[str, MakeView] = {name: partial(_made, place) for name, place in CLASSES.items()}
