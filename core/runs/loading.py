"""Reading a run back: its model, its tokenizer, and what its optimizer needs to go on."""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from core.config.run import RunConfig
from core.errors import DamagedCheckpointError, WrongShapeError
from core.model.transformer import Transformer
from core.runs.catalog import find_checkpoint, read_config
from core.runs.folder import RunFolder
from core.runs.state import OPTIMIZER, WEIGHTS, CheckpointState, check_file, read_state
from core.tokenizers.files import load_tokenizer
from core.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A checkpoint in memory. The model is in evaluation mode, float32, on the CPU."""

    model: Transformer
    tokenizer: Tokenizer
    config: RunConfig
    state: CheckpointState


def load_model(run: RunFolder, which: str) -> LoadedModel:
    """Open the checkpoint called "best", "last" or by its step.

    Raises:
        DamagedRunError: The run's settings or tokenizer cannot be read.
        NoCheckpointError, DamagedCheckpointError, WrongShapeError: As their names say.
    """
    config, tokenizer = read_config(run), load_tokenizer(run.tokenizer)
    checkpoint = find_checkpoint(run, which)
    state = read_state(checkpoint)
    model = Transformer(config.model, tokenizer.vocab_size)
    restore_weights(model, read_tensors(checkpoint, WEIGHTS, state), checkpoint)
    return LoadedModel(model.eval(), tokenizer, config, state)


def read_optimizer(checkpoint: Path, state: CheckpointState) -> dict[str, Tensor]:
    """The optimizer's tensors by name."""
    return read_tensors(checkpoint, OPTIMIZER, state)


def read_tensors(checkpoint: Path, name: str, state: CheckpointState) -> dict[str, Tensor]:
    """The tensors of one file of a checkpoint, after comparing its SHA-256.

    Raises:
        DamagedCheckpointError: The file is missing, cut short or altered.
    """
    path = check_file(checkpoint, name, state)
    try:
        return load_file(path)
    except (OSError, SafetensorError) as cause:
        raise DamagedCheckpointError(checkpoint, f"{name} cannot be read") from cause


def model_weights(model: Transformer) -> dict[str, Tensor]:
    """The model's tensors by name; a tied head is left out, for it is the embedding."""
    weights = model.state_dict()
    if model.config.tied_embeddings:
        del weights["head.weight"]
    return weights


def restore_weights(model: Transformer, weights: dict[str, Tensor], checkpoint: Path) -> None:
    """Put saved weights into a model.

    Raises:
        WrongShapeError: Names or shapes differ; the first difference is told.
    """
    wanted = {name: tuple(t.shape) for name, t in model_weights(model).items()}
    found = {name: tuple(t.shape) for name, t in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise WrongShapeError(checkpoint, _difference(name, wanted.get(name), found.get(name)))
    with torch.no_grad():
        for name, tensor in model_weights(model).items():
            tensor.copy_(weights[name])


def _difference(name: str, wanted: tuple[int, ...] | None, found: tuple[int, ...] | None) -> str:
    if found is None:
        return f"it has no {name}"
    if wanted is None:
        return f"it has a {name} that they lack"
    return f"{name} is {' x '.join(map(str, found))} in it and {' x '.join(map(str, wanted))} in them"
