"""A failure is declared: its fields, and its sentences as templates over them."""

import pickle
from pathlib import Path

import pytest

from core.errors.base import (
    EncryptedDocumentError,
    OcrUnavailableError,
    UnreadableDocumentError,
    UserFacingError,
)
from core.errors.runs import DeviceMissingError


class TooHotError(UserFacingError):
    """Declared as CONTRIBUTING says."""

    oven: str
    degrees: int = 1200
    message = "{oven!r} has {degrees:,} degrees."
    remedy = "Open {oven}."


def test_the_sentences_are_made_of_the_fields_and_their_defaults():
    error = TooHotError("the {kiln}")
    assert (error.oven, error.degrees) == ("the {kiln}", 1200)
    assert (error.message, error.remedy) == ("'the {kiln}' has 1,200 degrees.", "Open the {kiln}.")
    assert str(TooHotError("a", 5)) == "'a' has 5 degrees."


@pytest.mark.parametrize(
    "error",
    [
        TooHotError("a", 5),
        UnreadableDocumentError(Path("/d/a.pdf"), "it is damaged"),
        EncryptedDocumentError(Path("/d/a.pdf"), True),
        OcrUnavailableError("no Tesseract", "Install it."),
        DeviceMissingError("cuda", "bench --device"),
    ],
)
def test_a_failure_survives_the_way_out_of_a_process(error):
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), vars(back)) == (type(error), vars(error))
