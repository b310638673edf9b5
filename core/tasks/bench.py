"""Training against `transformers`, which works in a process of its own, as its users run it.

That process is given no settings for its allocator.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

from core.config.model import ModelConfig
from core.config.presets import PRESETS
from core.config.training import TrainingConfig
from core.control import StopToken
from core.errors import BadSettingError
from core.tasks.bench_errors import MissingPeerError
from core.tasks.bench_rounds import Stream, Subject, interleave

PEER_TRAIN = "transformers GPT-2, float32"

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


def bench_train(shape: str, rounds: int, stop: StopToken) -> Stream:
    """Time training steps: ours in each precision, and `transformers` in a plain float32 loop.

    Raises:
        BadSettingError: There is no such shape.
        MissingPeerError: transformers is not installed.
    """
    model, vocab_size, batch_size, steps = named_shape(shape)
    with peer_process(_peer_steps, model, vocab_size, batch_size, steps) as peer:
        subjects = {PEER_TRAIN: peer}
        for precision in ("float32", "bfloat16"):
            subjects[f"ours, {precision}"] = _our_steps(model, vocab_size, batch_size, steps, precision)
        return (yield from interleave("train", shape, UNIT, subjects, rounds, stop))


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


def named_shape(shape: str) -> tuple[ModelConfig, int, int, int]:
    """The model, the vocabulary, the batch size and the steps in one round of a shape.

    Raises:
        BadSettingError: There is no such shape.
    """
    if shape not in SHAPES:
        raise BadSettingError("--shape", f"cannot be {shape!r}: it is one of {', '.join(SHAPES)}")
    return SHAPES[shape]


def _our_steps(model: ModelConfig, vocab_size: int, batch_size: int, steps: int, precision: str) -> Subject:
    """Steps through the very loop that trains a run, on random tokens."""
    from core.model.transformer import Transformer
    from core.training.loop import Plan, Progress, TrainState, train
    from core.training.optimizer import make_optimizer
    from core.training.precision import Precision

    config = TrainingConfig(batch_size=batch_size, max_steps=1_000_000)
    transformer = Transformer(model, vocab_size)
    train_state = TrainState(
        transformer,
        make_optimizer(transformer, config),
        Precision(precision, transformer.device),  # type: ignore[arg-type]  # one of the two names above
    )
    progress = Progress()
    batch = _random_batch(model, vocab_size, batch_size)

    def work() -> int:
        plan = Plan(progress.step + steps, 1.0)
        return sum(
            batch[0].numel() for _ in train(train_state, lambda _: batch, config, plan, progress, StopToken())
        )

    return work


def _peer_steps(model: ModelConfig, vocab_size: int, batch_size: int, steps: int) -> Subject:
    """What a user of `transformers` writes: its model, torch's AdamW as it comes, clipping."""
    import torch

    from core.tasks.bench_peer import make_peer

    peer = make_peer(model, vocab_size).train()
    optimizer = torch.optim.AdamW(peer.parameters(), lr=1e-3)
    x, y = _random_batch(model, vocab_size, batch_size)

    def work() -> int:
        for _ in range(steps):
            logits = peer(input_ids=x).logits  # (B, T, V)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
        return steps * x.numel()

    return work


def _random_batch(model: ModelConfig, vocab_size: int, batch_size: int) -> Any:
    import torch

    ids = torch.randint(vocab_size, (batch_size, model.context_length + 1))  # (B, T + 1)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
