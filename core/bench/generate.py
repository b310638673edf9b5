"""Decoding against `transformers`' cached generate, which works in a process of its own on the same weights."""

import time
from collections.abc import Sequence
from itertools import takewhile
from operator import eq
from typing import Any

from core.bench.rounds import Subject, interleave
from core.bench.shapes import NO_BFLOAT16, UNIT, bench_device, shape_of
from core.bench.subjects import peer_process
from core.config.model import ModelConfig
from core.config.sampling import SamplingConfig, WeightsFormat
from core.control import StopToken
from core.events.base import Notice, Task
from core.events.bench import BenchFact, BenchMeasured

PEER_GENERATE = "transformers GPT-2, cached generate"
PROMPT_TOKENS, NEW_TOKENS = 32, 200
SEED = 1
BYTES_PER_WEIGHT: dict[WeightsFormat, int] = {"float32": 4, "auto": 4, "bfloat16": 2, "int8": 1}
SUMMED_BYTES = 2**28  # far more than any cache holds
TRIALS = 5


def bench_generate(
    shape: str, rounds: int, stop: StopToken, device: str = "auto"
) -> Task[list[BenchMeasured]]:
    """Time cached decoding of 200 tokens after a prompt of 32, ours and `transformers`', on the same weights.

    Ours in every number format that the device computes with; "auto" is what a reply begins with. After the
    rounds come the greedy tokens that each has in common with the peer, and the share that each reaches of the
    speed at which its weights could be read from memory.

    Raises:
        BadSettingError: There is no such shape or kind of device.
        DeviceMissingError: This machine has no such device.
        MissingPeerError: transformers is not installed.
    """
    model, vocab_size, _, _ = shape_of(shape)
    on = bench_device(device)
    room = max(model.context_length, PROMPT_TOKENS + NEW_TOKENS)  # the peer cannot move a full context on
    model = model.model_copy(update={"context_length": room})
    greedy = SamplingConfig(temperature=0, max_new_tokens=NEW_TOKENS)
    sampled = SamplingConfig(max_new_tokens=NEW_TOKENS, seed=1)
    ours = {} if stop.asked else _our_models(model, vocab_size, on)
    results: list[BenchMeasured] = []
    for name, config in (("greedy", greedy), ("sampled", sampled)):
        if stop.asked:
            return results
        with peer_process("generate:PeerDecoding", model, vocab_size, config, on) as peer:
            subjects: dict[str, Subject] = {f"{PEER_GENERATE}, {name}": peer}
            for weights, transformer in ours.items():
                subjects[f"ours, {weights}, {name}"] = _our_decoding(transformer, config)
            results += yield from interleave("generate", shape, UNIT, subjects, rounds, stop)
    if stop.asked:
        return results
    if "bfloat16" not in ours:
        yield Notice(NO_BFLOAT16)
    yield from _equal_tokens(shape, model, vocab_size, ours, greedy, on)
    yield from _shares(shape, ours, results, on)
    return results


def _our_models(model: ModelConfig, vocab_size: int, device: str) -> dict[WeightsFormat, Any]:
    """The same weights in each number format that the device computes with. On a GPU "auto" is plain float32."""
    import torch

    from core.generation.packed import has_bfloat16, pack_linears
    from core.model.transformer import Transformer
    from core.training.precision import gpu_format

    formats: list[WeightsFormat] = ["float32", "auto", "int8"] if device == "cpu" else ["auto"]
    has_format = has_bfloat16() if device == "cpu" else gpu_format(torch.device(device)) == "bfloat16"
    formats += ["bfloat16"] if has_format else []
    models: dict[WeightsFormat, Any] = {}
    for weights in formats:
        transformer = Transformer(model, vocab_size, SEED).eval().to(device)
        if pack_linears(transformer, weights) == weights or weights == "auto":
            models[weights] = transformer
    return models


def _our_decoding(model: Any, config: SamplingConfig) -> Subject:
    return lambda: len(_our_tokens(model, config))


def _our_tokens(model: Any, config: SamplingConfig) -> list[int]:
    from core.generation.decoding import decode
    from core.generation.row import Decoded

    steps = decode(model, list(range(PROMPT_TOKENS)), config, StopToken())
    return [step.token_id for step in steps if isinstance(step, Decoded)]


def _equal_tokens(
    shape: str,
    model: ModelConfig,
    vocab_size: int,
    ours: dict[WeightsFormat, Any],
    greedy: SamplingConfig,
    device: str,
) -> Task[None]:
    """How many greedy tokens each has in common with the peer, up to the first that differs."""
    with peer_process("generate:PeerDecoding", model, vocab_size, greedy, device) as peer:
        expected: list[int] = peer.ask("tokens")
    for weights, transformer in ours.items():
        same = _common(_our_tokens(transformer, greedy), expected)
        yield BenchFact("generate", shape, f"ours, {weights}: tokens as the peer's", same, f"of {NEW_TOKENS}")


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(bool, map(eq, first, second)))


def _shares(
    shape: str, ours: dict[WeightsFormat, Any], results: Sequence[BenchMeasured], device: str
) -> Task[None]:
    """The speed of greedy decoding, of that at which memory gives all weights once per token."""
    rates = {row.subject: row.rate for row in results}
    bandwidth = read_bandwidth(device)
    yield BenchFact("generate", shape, "memory, read", bandwidth / 1e9, "GB/s")
    for weights, transformer in ours.items():
        limit = bandwidth / (
            BYTES_PER_WEIGHT[weights] * _weights_read(transformer.config, transformer.vocab_size)
        )
        share = 100 * rates[f"ours, {weights}, greedy"] / limit
        yield BenchFact("generate", shape, f"ours, {weights}: of the memory's limit", share, "%")


def _weights_read(model: ModelConfig, vocab_size: int) -> int:
    """How many weights a token takes: those of all matrices, and not the rest of an embedding."""
    from torch import nn

    from core.model.initialisation import SkipInit
    from core.model.transformer import Transformer

    with SkipInit():
        plain = Transformer(model, vocab_size, seed=None)
    return sum(layer.weight.numel() for layer in plain.modules() if isinstance(layer, nn.Linear))


def read_bandwidth(device: str = "cpu") -> float:
    """Bytes per second of a matrix-vector product that no cache holds, the best of a few."""
    import torch

    matrix = torch.ones(2**12, SUMMED_BYTES // 4 // 2**12, device=device)
    vector = torch.ones(matrix.shape[1], device=device)
    seconds = []
    for _ in range(TRIALS):
        started = time.perf_counter()
        torch.mv(matrix, vector)[0].item()  # waits for a GPU
        seconds.append(time.perf_counter() - started)
    return SUMMED_BYTES / min(seconds)


class PeerDecoding:
    """`transformers`' own loop. Its weights are ours, for they come from the same seed."""

    def __init__(self, model: ModelConfig, vocab_size: int, config: SamplingConfig, device: str) -> None:
        from core.bench.peer import copy_weights, make_peer
        from core.model.transformer import Transformer

        self._peer = make_peer(model, vocab_size)
        copy_weights(Transformer(model, vocab_size, SEED), self._peer)
        self._peer.to(device)
        self._options: dict[str, Any] = {
            "min_new_tokens": config.max_new_tokens,
            "max_new_tokens": config.max_new_tokens,
            "pad_token_id": 0,
            "do_sample": config.temperature > 0,
        }
        if config.temperature:
            self._options |= {"temperature": config.temperature, "top_k": config.top_k, "top_p": config.top_p}

    def __call__(self) -> int:
        return len(self.tokens())

    def tokens(self) -> list[int]:
        """What it writes."""
        import torch

        prompt = torch.arange(PROMPT_TOKENS, device=self._peer.device)[None]  # (1, T)
        with torch.inference_mode():
            written = self._peer.generate(prompt, attention_mask=torch.ones_like(prompt), **self._options)
        tokens: list[int] = written[0, PROMPT_TOKENS:].tolist()
        return tokens
