"""Writing token by token: the prompt is read once, then each step computes one position.

Shapes
    T  positions being computed    V  vocabulary
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import ContextMoved
from core.generation.context import ContextPolicy, PlainText
from core.generation.sampling import draw, penalise
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer

PLAIN_TEXT = PlainText()


@dataclass(frozen=True, slots=True)
class Decoded:
    """A token as it was drawn. `probability` is the model's own, before temperature and filters."""

    token_id: int
    probability: float
    context_used: int


@torch.inference_mode()
def decode(
    model: Transformer,
    prompt: Sequence[int],
    config: SamplingConfig,
    stop: StopToken,
    policy: ContextPolicy = PLAIN_TEXT,
) -> Generator[Decoded | ContextMoved, None, None]:
    """Continue a prompt, up to `config.max_new_tokens` tokens; the caller ends it earlier by not asking on.

    When the context is full, what `policy` keeps of it is read again and the rest is forgotten.

    Args:
        model: In evaluation mode.
        prompt: At least one token.

    Raises:
        ValueError: The prompt is empty.
    """
    if not prompt:
        raise ValueError("there must be at least one token to continue")
    context_length = model.config.context_length
    generator = make_generator(config.seed)
    cache = KVCache(model.config, 1, model.device, model.dtype)
    seen = torch.zeros(model.vocab_size, dtype=torch.bool, device=model.device)  # (V,)
    context, fresh = list(prompt), list(prompt)  # all that is in view, and what of it is not yet in the cache
    reserved = policy.reserved_tokens(context_length, config.max_new_tokens)
    limit = context_length - reserved
    for _ in range(config.max_new_tokens):
        if stop.asked:
            return
        if len(context) > limit:
            kept = policy.shorten(context, context_length, reserved)
            yield ContextMoved(len(kept.ids), len(context) - len(kept.ids), kept.question_cut)
            context, fresh = list(kept.ids), kept.ids
            cache.clear()
        limit = context_length
        seen[fresh] = True
        logits = next_logits(model, fresh, cache)  # (V,)
        token = draw(penalise(logits, seen, config.repetition_penalty), config, generator)
        context.append(token)
        fresh = [token]
        probability = (logits[token] - logits.logsumexp(dim=-1)).exp().item()
        yield Decoded(token, probability, min(len(context), context_length))


def next_logits(model: Transformer, ids: Sequence[int], cache: KVCache) -> Tensor:
    """Read `ids`, which follow what the cache holds, and score what comes after the last: (V,)."""
    read = torch.tensor([ids], dtype=torch.long, device=model.device)  # (1, T)
    return model.head(model.hidden(read, cache)[0, -1]).float()  # (V,)


def make_generator(seed: int | None) -> torch.Generator:
    """A source of chance: the same seed draws the same tokens, None draws anew each time."""
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    return generator
