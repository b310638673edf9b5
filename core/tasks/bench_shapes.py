"""The shapes that training and decoding are timed at, and peers that work in a process of their own.

Such a process is given no settings for its allocator: it works as its users run it.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

from core.config.model import ModelConfig
from core.config.presets import PRESETS
from core.errors import BadSettingError
from core.tasks.bench_errors import MissingPeerError
from core.tasks.bench_rounds import Subject

GPT2 = PRESETS["gpt2"].run.model
S = {"n_layers": 4, "n_heads": 4, "d_model": 128, "d_ff": 512, "context_length": 64}
M = {"n_layers": 6, "n_heads": 6, "d_model": 384, "d_ff": 1536, "context_length": 256}
L = {"context_length": 512}
SHAPES: dict[str, tuple[ModelConfig, int, int, int]] = {  # model, vocabulary, batch, steps in one round
    "S": (GPT2.model_copy(update=S), 65, 12, 20),
    "M": (GPT2.model_copy(update=M), 65, 16, 2),
    "L": (GPT2.model_copy(update=L), 50_257, 2, 1),
}

UNIT = "tokens/s"


def shape_of(shape: str) -> tuple[ModelConfig, int, int, int]:
    if shape not in SHAPES:
        raise BadSettingError("--shape", f"cannot be {shape!r}: it is one of {', '.join(SHAPES)}")
    return SHAPES[shape]


def random_batch(model: ModelConfig, vocab_size: int, batch_size: int) -> Any:
    import torch

    ids = torch.randint(vocab_size, (batch_size, model.context_length + 1))  # (B, T + 1)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


@contextmanager
def peer_process(make: Callable[..., Subject], *arguments: Any) -> Iterator[Subject]:
    """A subject that is made, and does its work, in a new process.

    Raises:
        MissingPeerError: transformers is not installed.
    """
    if find_spec("transformers") is None:
        raise MissingPeerError("transformers")
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit this process's allocator and threads
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there, make, arguments), daemon=True)
    process.start()
    there.close()  # so that the peer's end of the process is the end of the pipe

    def work() -> int:
        here.send(None)
        tokens: int = here.recv()
        return tokens

    try:
        yield work
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, make: Callable[..., Subject], arguments: tuple[Any, ...]) -> None:
    """Do one round's work for each message."""
    work = make(*arguments)
    while True:
        pipe.recv()
        pipe.send(work())
