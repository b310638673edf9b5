"""The shapes that training and decoding are timed at."""

from typing import Any

from core.config.model import ModelConfig
from core.config.presets import PRESETS
from core.errors.base import BadSettingError
from core.errors.runs import DeviceMissingError

GPT2 = PRESETS["gpt2"].run.model
S = {"n_layers": 4, "n_heads": 4, "d_model": 128, "d_ff": 512, "context_length": 64}
M = {"n_layers": 6, "n_heads": 6, "d_model": 384, "d_ff": 1536, "context_length": 256}
L = {"context_length": 512}
GPT2_BATCH = PRESETS["gpt2"].run.training.batch_size
SHAPES: dict[str, tuple[ModelConfig, int, int, int]] = {  # model, vocabulary, batch, steps in one round
    "S": (GPT2.model_copy(update=S), 65, 12, 20),
    "M": (GPT2.model_copy(update=M), 65, 16, 2),
    "L": (GPT2.model_copy(update=L), 50_257, 2, 1),
    "gpt2": (GPT2, 50_257, GPT2_BATCH, 1),  # for GPUs: context 1,024
}

DEVICES = ("cpu", "cuda")
UNIT = "tokens/s"
NO_BFLOAT16 = "bfloat16 was left out: this processor has no instructions for it."


def shape_of(shape: str) -> tuple[ModelConfig, int, int, int]:
    """The model, the vocabulary, the batch size and the steps in one round.

    Raises:
        BadSettingError: There is no such shape.
    """
    if shape not in SHAPES:
        raise BadSettingError("--shape", f"cannot be {shape!r}: it is one of {', '.join(SHAPES)}")
    return SHAPES[shape]


def bench_device(name: str) -> str:
    """The kind of device to measure on: "cpu" or "cuda"; for "auto" a GPU where there is one.

    Raises:
        BadSettingError: There is none of that name.
        DeviceMissingError: This machine has none.
    """
    from core.training.precision import choose_device

    if name not in ("auto", *DEVICES):
        raise BadSettingError("--device", f"cannot be {name!r}: it is one of auto, {', '.join(DEVICES)}")
    found = choose_device("cuda" if name == "auto" else name)
    if found is None and name != "auto":
        raise DeviceMissingError(name, "--device")
    return found.type if found else "cpu"


def random_batch(model: ModelConfig, vocab_size: int, batch_size: int) -> Any:
    """Token ids and those that follow them, (B, T) each."""
    import torch

    ids = torch.randint(vocab_size, (batch_size, model.context_length + 1))  # (B, T + 1)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
