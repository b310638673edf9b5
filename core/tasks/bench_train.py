"""Training steps against `transformers`, which works in a process of its own, as its users run it."""

from core.config.model import ModelConfig
from core.config.training import TrainingConfig
from core.control import StopToken
from core.tasks.bench_rounds import Stream, Subject, interleave
from core.tasks.bench_shapes import UNIT, peer_process, random_batch, shape_of

PEER_TRAIN = "transformers GPT-2, float32"


def bench_train(shape: str, rounds: int, stop: StopToken) -> Stream:
    """Time training steps: ours in each precision, and `transformers` in a plain float32 loop.

    Raises:
        BadSettingError: There is no such shape.
        MissingPeerError: transformers is not installed.
    """
    model, vocab_size, batch_size, steps = shape_of(shape)
    with peer_process(_peer_steps, model, vocab_size, batch_size, steps) as peer:
        subjects = {PEER_TRAIN: peer}
        for precision in ("float32", "bfloat16"):
            subjects[f"ours, {precision}"] = _our_steps(model, vocab_size, batch_size, steps, precision)
        return (yield from interleave("train", shape, UNIT, subjects, rounds, stop))


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
    batch = random_batch(model, vocab_size, batch_size)

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
    x, y = random_batch(model, vocab_size, batch_size)

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
