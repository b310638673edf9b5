"""Decoding against `transformers`' cached generate, which works in a process of its own on the same weights."""

from typing import Any

from core.config.model import ModelConfig
from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.tasks.bench import UNIT, named_shape, peer_process
from core.tasks.bench_events import BenchMeasured
from core.tasks.bench_rounds import Stream, Subject, interleave

PEER_GENERATE = "transformers GPT-2, cached generate"
PROMPT_TOKENS, NEW_TOKENS = 32, 200
SEED = 1


def bench_generate(shape: str, rounds: int, stop: StopToken) -> Stream:
    """Time cached decoding of 200 tokens after a prompt of 32, ours and `transformers`', on the same weights.

    Raises:
        BadSettingError: There is no such shape.
        MissingPeerError: transformers is not installed.
    """
    from core.model.transformer import Transformer

    model, vocab_size, _, _ = named_shape(shape)
    room = max(model.context_length, PROMPT_TOKENS + NEW_TOKENS)  # the peer cannot move a full context on
    model = model.model_copy(update={"context_length": room})
    greedy = SamplingConfig(temperature=0, max_new_tokens=NEW_TOKENS)
    sampled = SamplingConfig(max_new_tokens=NEW_TOKENS, seed=1)
    ours = Transformer(model, vocab_size, SEED).eval()
    results: list[BenchMeasured] = []
    for name, config in (("greedy", greedy), ("sampled", sampled)):
        with peer_process(_peer_decoding, model, vocab_size, config) as peer:
            subjects = {f"{PEER_GENERATE}, {name}": peer, f"ours, {name}": _our_decoding(ours, config)}
            results += yield from interleave("generate", shape, UNIT, subjects, rounds, stop)
    return results


def _our_decoding(model: Any, config: SamplingConfig) -> Subject:
    from core.generation.decoding import decode

    def work() -> int:
        return sum(1 for _ in decode(model, list(range(PROMPT_TOKENS)), config, StopToken()))

    return work


def _peer_decoding(model: ModelConfig, vocab_size: int, config: SamplingConfig) -> Subject:
    """The same weights as ours, for they come from the same seed."""
    import torch

    from core.model.transformer import Transformer
    from core.tasks.bench_peer import copy_weights, make_peer

    peer = make_peer(model, vocab_size)
    copy_weights(Transformer(model, vocab_size, SEED), peer)
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
                min_new_tokens=config.max_new_tokens,
                max_new_tokens=config.max_new_tokens,
                pad_token_id=0,
                **chance,
            )
        return config.max_new_tokens

    return work
