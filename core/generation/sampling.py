"""From logits to the next token: penalty, temperature, filters, one draw.

The filters work on ranked logits, likeliest first, so that each is one comparison.

Shapes
    V  vocabulary    K  tokens still in question, ranked
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from core.config.sampling import SamplingConfig, below_min_p, outside_nucleus


def draw(logits: Tensor, config: SamplingConfig, generator: torch.Generator) -> int:
    """Choose the next token.

    Args:
        logits: Unnormalised scores, (V,), after `penalise`.
        generator: Where the chance comes from, on the CPU; not used when the likeliest token is taken.
    """
    if config.is_greedy:
        return int(logits.argmax())
    filtered = apply_filters(logits, config)
    probs = filtered.after_min_p.softmax(dim=-1).cpu()  # (K,)
    return int(filtered.order[choose(probs, generator)])


class FilteredLogits(NamedTuple):
    """The tokens that top-k leaves, likeliest first, and their logits after each of the other steps; (K,) each."""

    order: Tensor  # token ids
    scaled: Tensor  # by the temperature, the likeliest at 0
    after_top_p: Tensor  # -inf where it ruled a token out
    after_min_p: Tensor


def apply_filters(logits: Tensor, config: SamplingConfig) -> FilteredLogits:
    """Top-k, temperature, top-p and min-p, in this order; the temperature is not 0, and `logits` are (V,)."""
    ranked, order = rank(logits.float(), config.top_k)  # 2 x (K,)
    scaled = (ranked - ranked[0]) / config.temperature  # (K,), at most 0: it overflows to -inf alone
    after_top_p = keep_nucleus(scaled, config.top_p)  # (K,)
    return FilteredLogits(order, scaled, after_top_p, keep_min_p(after_top_p, config.min_p))


def skip_draws(n_draws: int, vocab_size: int, config: SamplingConfig, generator: torch.Generator) -> None:
    """Bring the generator to where it is after so many draws."""
    if config.is_greedy:
        return
    times = torch.empty(min(config.top_k or vocab_size, vocab_size))  # (K,), as `choose` has them
    for _ in range(n_draws):
        times.exponential_(1.0, generator=generator)


def choose(probs: Tensor, generator: torch.Generator) -> int:
    """One draw from probabilities, (K,), on the CPU: what `torch.multinomial` draws, without its checks.

    The first of independent events is each of them with a probability that is its share of all their rates.
    """
    times = torch.empty_like(probs).exponential_(1.0, generator=generator)  # (K,), of events of rate 1
    return int(probs.div_(times).argmax())


def rank(logits: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    """The `top_k` likeliest tokens, all if 0: their logits in falling order, and their ids, (K,) each."""
    if 0 < top_k < logits.shape[-1]:
        ranked, order = logits.topk(top_k)
    else:
        ranked, order = logits.sort(descending=True)
    return ranked, order


def keep_nucleus(ranked: Tensor, top_p: float) -> Tensor:
    """Rule out every token `outside_nucleus`.

    Args:
        ranked: Logits in falling order, (K,).
        top_p: Probability to keep, in (0, 1]; 1 keeps every token.

    Returns:
        (K,): `ranked` inside the set, -inf outside it.

    Raises:
        ValueError: `top_p` is not in (0, 1].
    """
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {top_p}")
    if top_p == 1:
        return ranked  # the running sum below rounds, and would drop a long tail
    return ranked.masked_fill(outside_nucleus(ranked.float().softmax(dim=-1), top_p), -torch.inf)  # (K,)


def keep_min_p(ranked: Tensor, min_p: float) -> Tensor:
    """Rule out every token `below_min_p`; (K,) to (K,), 0 keeps all."""
    if min_p == 0:
        return ranked
    return ranked.masked_fill(below_min_p(ranked.float().softmax(dim=-1), min_p), -torch.inf)  # (K,)


def seen_tokens(history: Sequence[int], window: int, logits: Tensor) -> Tensor:
    """True for the tokens among the newest `window` of a history, among all if 0; (V,) as `logits`."""
    seen = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)  # (V,)
    seen[torch.tensor(history[-window:], dtype=torch.long)] = True
    return seen


def penalise(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Make tokens that occurred less likely: positive logits are divided by the penalty, negative multiplied.

    Args:
        logits: (V,).
        seen: True for the tokens that occurred, (V,).
        penalty: 1 changes nothing.

    Returns:
        (V,), new unless the penalty is 1, and finite.

    Source:
        Keskar et al., "CTRL: A Conditional Transformer Language Model", 2019, section 4.1.
    """
    if penalty == 1:
        return logits
    punished = torch.where(logits > 0, logits / penalty, logits * penalty)  # (V,)
    largest = torch.finfo(logits.dtype).max
    return torch.where(seen, punished.clamp(-largest, largest), logits)  # (V,)


def discourage(logits: Tensor, counts: Tensor, frequency: float, presence: float) -> Tensor:
    """Take from each token's score for each time that a reply has it, and once more where it has it at all.

    Args:
        logits: (V,).
        counts: How often the reply has each token, (V,).

    Returns:
        (V,), new unless both are 0.

    Source:
        OpenAI, "API reference", frequency and presence penalties: logit - count * frequency - (count > 0) * presence.
    """
    if not (frequency or presence):
        return logits
    return logits - counts * frequency - (counts > 0) * presence  # (V,)


def add_biases(logits: Tensor, biases: Mapping[int, float]) -> Tensor:
    """Add to the scores of some tokens, (V,) to (V,); ids that the vocabulary lacks are passed over."""
    known = {token: bias for token, bias in biases.items() if token < len(logits)}
    if not known:
        return logits
    ids = torch.tensor([*known], device=logits.device)
    added = torch.tensor([*known.values()], dtype=logits.dtype, device=logits.device)
    return logits.index_add(0, ids, added)  # (V,)


def count_tokens(ids: Sequence[int], logits: Tensor) -> Tensor:
    """How often each token is among these, (V,) as `logits`."""
    counted = torch.tensor(list(ids), dtype=torch.long, device=logits.device)
    return torch.bincount(counted, minlength=len(logits)).to(logits.dtype)  # (V,)
