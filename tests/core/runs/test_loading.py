"""What is read back is what was written, and what is damaged says so."""

import json

import pytest
import torch

from core.errors import DamagedCheckpointError, DamagedRunError, NoCheckpointError, WrongShapeError
from core.model.transformer import Transformer
from core.runs.checkpoint import save_checkpoint
from core.runs.loading import load_model, model_weights, read_optimizer, restore_weights
from core.runs.state import digest

IDS = torch.tensor([[4, 9, 5, 7], [8, 8, 6, 10]])
FILES = ["model.safetensors", "optimizer.safetensors", "state.json"]


@pytest.fixture
def run(trained):
    return trained.run("first")


def read_all(run, which="last"):
    """Everything that a run which goes on reads."""
    loaded = load_model(run, which)
    read_optimizer(run.checkpoint(loaded.state.step), loaded.state)


def logits(model):
    with torch.no_grad():
        return model.eval()(IDS)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_weights_written_and_read_back_give_equal_logits(run, tiny, tmp_path, tied, positions):
    config = tiny({"model.tied_embeddings": tied, "model.positions": positions}).model
    model, other = Transformer(config, 30, seed=1), Transformer(config, 30, seed=2)
    assert not torch.equal(logits(model), logits(other))
    restore_weights(other, model_weights(model), tmp_path)
    assert torch.equal(logits(model), logits(other))


def test_a_checkpoint_saved_and_opened_gives_equal_logits(run):
    trained = load_model(run, "last")
    with torch.no_grad():
        for parameter in trained.model.parameters():
            parameter.add_(0.1)
    state = trained.state.model_copy(update={"step": 8})
    save_checkpoint(run, model_weights(trained.model), {}, state, keep=3)
    assert torch.equal(logits(load_model(run, "last").model), logits(trained.model))


def test_a_checkpoint_opened_twice_gives_equal_logits(run):
    assert torch.equal(logits(load_model(run, "6").model), logits(load_model(run, "last").model))


def test_checkpoints_of_different_steps_differ(run):
    assert not torch.equal(logits(load_model(run, "2").model), logits(load_model(run, "6").model))


def test_an_opened_model_is_ready_to_be_used(run):
    loaded = load_model(run, "best")
    assert not loaded.model.training
    assert loaded.model.device.type == "cpu"
    assert loaded.model.token_embedding.weight.dtype == torch.float32
    assert loaded.model.vocab_size == loaded.tokenizer.vocab_size
    assert loaded.state.step == 6


def test_a_checkpoint_that_is_not_there_names_those_that_are(run):
    with pytest.raises(NoCheckpointError) as refused:
        load_model(run, "99")
    assert "best, last, 2, 4, 6" in refused.value.remedy


# Damage


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(run, name):
    (run.checkpoint(6) / name).unlink()
    with pytest.raises(DamagedCheckpointError, match=f"{name} is missing"):
        read_all(run)


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_short_is_noticed(run, name):
    path = run.checkpoint(6) / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedCheckpointError, match=name):
        read_all(run)


@pytest.mark.parametrize("name", FILES[:2])
def test_a_single_bit_that_flipped_is_noticed(run, name):
    path = run.checkpoint(6) / name
    content = bytearray(path.read_bytes())
    content[-5] ^= 1  # in a weight, where only the checksum can tell
    path.write_bytes(content)
    with pytest.raises(DamagedCheckpointError, match=f"{name} is not what was written"):
        read_all(run)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "null", '{"step": "six"}', '{"step":', "\x00\xff"])
def test_a_state_that_is_not_one_is_noticed(run, text):
    (run.checkpoint(6) / "state.json").write_text(text, encoding="latin-1")
    with pytest.raises(DamagedCheckpointError, match=r"state\.json"):
        read_all(run)


def test_a_state_of_a_later_format_is_refused(run):
    path = run.checkpoint(6) / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(DamagedCheckpointError, match="later version"):
        read_all(run)


def test_a_file_that_is_what_was_written_and_yet_no_safetensors_is_noticed(run):
    checkpoint = run.checkpoint(6)
    (checkpoint / "model.safetensors").write_bytes(b"nothing of the kind")
    record = json.loads((checkpoint / "state.json").read_text())
    record["sha256"]["model.safetensors"] = digest(checkpoint / "model.safetensors")
    (checkpoint / "state.json").write_text(json.dumps(record))
    with pytest.raises(DamagedCheckpointError, match="cannot be read"):
        read_all(run)


def test_a_file_without_a_checksum_is_not_trusted(run):
    checkpoint = run.checkpoint(6)
    record = json.loads((checkpoint / "state.json").read_text())
    (checkpoint / "state.json").write_text(json.dumps(record | {"sha256": {}}))
    with pytest.raises(DamagedCheckpointError, match="not what was written"):
        read_all(run)


def test_an_earlier_checkpoint_opens_where_the_last_is_damaged(run):
    (run.checkpoint(6) / "model.safetensors").unlink()
    assert load_model(run, "4").state.step == 4


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "d_model = 16",
            "d_model = 32",
            r"blocks\.0\.attention\.to_out\.weight is 16 x 16 in it and 32 x 32",
        ),
        ("n_layers = 2", "n_layers = 3", r"it has no blocks\.2\.attention\.to_out\.weight"),
        ("n_layers = 2", "n_layers = 1", r"it has a blocks\.1\.attention\.to_out\.weight that they lack"),
        ("tied_embeddings = true", "tied_embeddings = false", r"it has no head\.weight"),
    ],
)
def test_a_checkpoint_of_another_shape_names_the_first_tensor_that_differs(run, before, after, told):
    settings = run.config.read_text()
    assert before in settings
    run.config.write_text(settings.replace(before, after))
    with pytest.raises(WrongShapeError, match=told):
        load_model(run, "last")


@pytest.mark.parametrize("text", ["model = 3", "not TOML", "[model]\nn_layer = 3", "[model]\nn_layers = 0"])
def test_settings_that_cannot_be_read_are_a_damaged_run(run, text):
    run.config.write_text(text)
    with pytest.raises(DamagedRunError, match=r"run\.toml"):
        load_model(run, "last")


def test_a_missing_tokenizer_is_a_damaged_run(run):
    run.tokenizer.unlink()
    with pytest.raises(DamagedRunError, match=r"tokenizer\.json is missing"):
        load_model(run, "last")
