"""Other people's models with random damage: each is taken in, or refused in a sentence, and nothing is left of it."""

import random
import shutil

import pytest

from core.control import StopToken
from core.errors.base import UserFacingError
from core.runs.folder import NAMES_LOCK, Workspace
from core.tasks.models.export_model import export_model
from core.tasks.models.take_model import take_model
from core.tasks.training.train_model import train_model

CASES = 150  # of each format
IN_FOLDER = (
    "model.safetensors",
    "model.safetensors",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
VICTIMS = {"hf": IN_FOLDER, "gguf": ("model.gguf",), "sheep": ("",)}


def damaged(content, chance):
    """The same bytes cut short, longer, or with some of them changed, most of them in the header."""
    bytes_ = bytearray(content)
    kind = chance.random()
    if kind < 0.2:
        return bytes_[: chance.randrange(len(bytes_))]
    if kind < 0.25:
        return bytes_ + chance.randbytes(100)
    reach = min(len(bytes_), chance.choice((64, 512, 8000, 10**9)))
    for _ in range(chance.choice((1, 2, 8, 64))):
        bytes_[chance.randrange(reach)] = chance.choice((0, 255, chance.randrange(256)))
    return bytes_


@pytest.mark.slow
@pytest.mark.parametrize("format", VICTIMS)
def test_a_damaged_model_is_a_sentence_or_a_run(filled, tiny, tmp_path, format):
    whole = tmp_path / ("whole.sheep" if format == "sheep" else "whole")
    list(train_model(filled, "first", tiny({"model.activation": "gelu_tanh"}), StopToken()))
    list(export_model(filled, "first", "best", format, whole, StopToken()))
    workspace, chance, refused = Workspace(tmp_path / "workspace"), random.Random(7), 0
    workspace.prepare()
    case = tmp_path / ("case.sheep" if format == "sheep" else "case")
    for _ in range(CASES):
        if whole.is_dir():
            shutil.rmtree(case, ignore_errors=True)
            shutil.copytree(whole, case)
        else:
            shutil.copy(whole, case)
        victim = case / name if (name := chance.choice(VICTIMS[format])) else case
        victim.write_bytes(damaged(victim.read_bytes(), chance))
        source = victim if format == "gguf" else case
        try:
            list(take_model(workspace, source, "taken", StopToken()))
        except UserFacingError as error:
            refused += 1
            assert error.message
            assert error.remedy
        else:
            shutil.rmtree(workspace.run("taken").root)
        left = {path.name for path in workspace.root.rglob("*") if path.is_file()} - {NAMES_LOCK}
        assert not left
    assert refused > CASES / 3
