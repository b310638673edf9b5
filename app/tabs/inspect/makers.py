"""The views of the Inspect tab, in the order in which the list shows them."""

from collections.abc import Mapping
from functools import partial
from importlib import import_module

from app.tabs.inspect.view import InspectView
from app.tabs.inspect.view_pane import MakeView

CLASSES = {
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


def _made(place: str) -> InspectView:
    """A view whose module is loaded when it comes to the front first: the window stands earlier without all of them."""
    module, _, name = place.rpartition(".")
    view: InspectView = getattr(import_module(f"app.tabs.inspect.{module}"), name)()
    return view


MAKERS: Mapping[str, MakeView] = {name: partial(_made, place) for name, place in CLASSES.items()}
