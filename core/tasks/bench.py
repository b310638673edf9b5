"""Benchmarks of this machine: ours and a named peer in interleaved rounds, medians and their ratios.

One absolute figure on a shared machine means little, so each round runs every subject once, and what is
reported is the median of a subject's rounds and the median of its ratio to the peer within a round.
"""

import statistics
import time
from collections.abc import Callable, Generator
from typing import Any

from core.config.model import ModelConfig
from core.config.presets import PRESETS
from core.config.sampling import SamplingConfig
from core.config.training import TrainingConfig
from core.control import StopToken
from core.errors import BadSettingError
from core.events import BenchMeasured, Event

PEER_TRAIN = "transformers GPT-2, float32"
PEER_GENERATE = "transformers GPT-2, cached generate"
PROMPT_TOKENS, NEW_TOKENS = 32, 200

GPT2 = PRESETS["gpt2"].run.model
S = {"n_layers": 4, "n_heads": 4, "d_model": 128, "d_ff": 512, "context_length": 64}
M = {"n_layers": 6, "n_heads": 6, "d_model": 384, "d_ff": 1536, "context_length": 256}
L = {"context_length": 512}
SHAPES: dict[str, tuple[ModelConfig, int, int, int]] = {  # model, vocabulary, batch, steps in one round
    "S": (GPT2.model_copy(update=S), 65, 12, 20),
    "M": (GPT2.model_copy(update=M), 65, 16, 2),
    "L": (GPT2.model_copy(update=L), 50_257, 2, 1),
}

Stream = Generator[Event, None, list[BenchMeasured]]
Subject = Callable[[], int]  # does one round's work and says how many tokens it was


def bench_train(shape: str, rounds: int, stop: StopToken) -> Stream:
    """Time training steps: ours in each precision, and `transformers` in a plain float32 loop.

    Raises:
        BadSettingError: There is no such shape.
        MissingPeerError: transformers is not installed.
    """
    model, vocab_size, batch_size, steps = _shape(shape)
    subjects = {PEER_TRAIN: _peer_steps(model, vocab_size, batch_size, steps)}
    for precision in ("float32", "bfloat16"):
        subjects[f"ours, {precision}"] = _our_steps(model, vocab_size, batch_size, steps, precision)
    return (yield from _interleave("train", shape, subjects, rounds, stop))


def bench_generate(shape: str, rounds: int, stop: StopToken) -> Stream:
    """Time cached decoding of 200 tokens after a prompt of 32, ours and `transformers`', on the same weights.

    Raises:
        BadSettingError, MissingPeerError: As for `bench_train`.
    """
    from core.model.transformer import Transformer
    from core.tasks.bench_peer import copy_weights, make_peer

    model_config, vocab_size, _, _ = _shape(shape)
    ours = Transformer(model_config, vocab_size).eval()
    peer = make_peer(model_config, vocab_size)
    copy_weights(ours, peer)
    greedy = SamplingConfig(temperature=0, max_new_tokens=NEW_TOKENS)
    sampled = SamplingConfig(max_new_tokens=NEW_TOKENS, seed=1)
    results: list[BenchMeasured] = []
    for name, config in (("greedy", greedy), ("sampled", sampled)):
        subjects = {
            f"{PEER_GENERATE}, {name}": _peer_decoding(peer, config),
            f"ours, {name}": _our_decoding(ours, config),
        }
        results += yield from _interleave("generate", shape, subjects, rounds, stop)
    return results


def _shape(shape: str) -> tuple[ModelConfig, int, int, int]:
    if shape not in SHAPES:
        raise BadSettingError("--shape", f"cannot be {shape!r}: it is one of {', '.join(SHAPES)}")
    return SHAPES[shape]


def _interleave(bench: str, shape: str, subjects: dict[str, Subject], rounds: int, stop: StopToken) -> Stream:
    """Run every subject once per round, after a first round that only warms up. The first subject is the peer."""
    speeds: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, work in subjects.items():
            if stop.asked:
                return []
            started = time.perf_counter()
            tokens = work()
            if number:
                speeds[name].append(tokens / (time.perf_counter() - started))
    peer = next(iter(speeds.values()))
    results = []
    for name, rates in speeds.items():
        ratio = statistics.median(rate / peer_rate for rate, peer_rate in zip(rates, peer, strict=True))
        results.append(BenchMeasured(bench, shape, name, statistics.median(rates), ratio, rounds))
        yield results[-1]
    return results


def _our_steps(model: ModelConfig, vocab_size: int, batch_size: int, steps: int, precision: str) -> Subject:
    """Steps through the very loop that trains a run, on random tokens."""
    from core.model.transformer import Transformer
    from core.training.loop import Learner, Plan, Progress, train
    from core.training.optimizer import make_optimizer
    from core.training.precision import Precision

    config = TrainingConfig(batch_size=batch_size, max_steps=1_000_000)
    transformer = Transformer(model, vocab_size)
    learner = Learner(
        transformer,
        make_optimizer(transformer, config),
        Precision(precision, transformer.device),  # type: ignore[arg-type]  # one of the two names above
    )
    progress = Progress()
    batch = _random_batch(model, vocab_size, batch_size)

    def work() -> int:
        plan = Plan(progress.step + steps, 1.0)
        return sum(
            batch[0].numel() for _ in train(learner, lambda _: batch, config, plan, progress, StopToken())
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


def _our_decoding(model: Any, config: SamplingConfig) -> Subject:
    from core.generation.decoding import decode

    def work() -> int:
        return sum(1 for _ in decode(model, list(range(PROMPT_TOKENS)), config, StopToken()))

    return work


def _peer_decoding(peer: Any, config: SamplingConfig) -> Subject:
    import torch

    prompt = torch.arange(PROMPT_TOKENS)[None]  # (1, T)
    chance = (
        {"do_sample": True, "temperature": config.temperature, "top_k": config.top_k, "top_p": config.top_p}
        if config.temperature
        else {"do_sample": False}
    )

    def work() -> int:
        with torch.inference_mode():
            peer.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                min_new_tokens=NEW_TOKENS,
                max_new_tokens=NEW_TOKENS,
                pad_token_id=0,
                **chance,
            )
        return NEW_TOKENS

    return work


def _random_batch(model: ModelConfig, vocab_size: int, batch_size: int) -> Any:
    import torch

    ids = torch.randint(vocab_size, (batch_size, model.context_length + 1))  # (B, T + 1)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
