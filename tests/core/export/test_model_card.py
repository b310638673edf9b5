"""A model card says what the user wrote of the run, and asks for a licence where there is none."""

import pytest

from core.config.model import ModelConfig
from core.export.material import Facts
from core.export.model_card import model_card
from core.tokenizers.char import CharTokenizer


@pytest.fixture
def card():
    def make(description="", licence=""):
        facts = Facts("first", 6, "starter", 10, 100, 3.0, 4.0, 3, 1000, False, description, licence)
        return model_card(facts, ModelConfig(), CharTokenizer.train(["the cat"]), "Open it.")

    return make


def test_without_a_licence_one_is_asked_for(card):
    assert "No licence is stated" in card()
    assert "license:" not in card()


@pytest.mark.parametrize(
    ("licence", "identifier"),
    [
        ("CC0-1.0", "cc0-1.0"),
        ("MIT", "mit"),
        ("free: for all", "other"),
        ("-x", "other"),
        ("Für alle", "other"),
    ],
)
def test_a_licence_is_stated_and_an_identifier_is_one_for_hugging_face(card, licence, identifier):
    front = card(licence=licence).split("---")[1]
    assert f"license: {identifier}\n" in front
    assert f"Licence: {licence}." in card(licence=licence)


def test_the_description_stands_before_the_model(card):
    text = card("Writes poems.")
    assert text.index("Writes poems.") < text.index("## Model")
