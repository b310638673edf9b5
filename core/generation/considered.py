"""What a model considered where a token was drawn: its own distribution, before penalty, temperature and filters.

Shapes
    V  vocabulary
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Considered:
    """`rank` counts from 1, `entropy` is in bits; `likeliest` are token ids with their probabilities."""

    rank: int
    entropy: float
    likeliest: tuple[tuple[int, float], ...]


def consider(logits: Tensor, probs: Tensor, token_id: int, n_likeliest: int) -> Considered:
    """What there is to say of the place of a token, in as few calls as there can be.

    Args:
        logits: (V,).
        probs: Their softmax, (V,).
    """
    values, order = logits.topk(min(n_likeliest, len(logits)))  # 2 x (n_likeliest,)
    highest, ids = values.tolist(), order.tolist()
    normaliser = highest[0] - math.log(probs[ids[0]].item())  # log-sum-exp: no other pass over V
    entropy = max(0.0, normaliser - torch.dot(probs, logits).item()) / math.log(2)
    likeliest = tuple(
        (token, math.exp(logit - normaliser)) for token, logit in zip(ids, highest, strict=True)
    )
    return Considered(_rank(logits, token_id, ids), entropy, likeliest)


def _rank(logits: Tensor, token_id: int, likeliest: list[int]) -> int:
    if token_id in likeliest:
        return likeliest.index(token_id) + 1
    return int((logits > logits[token_id]).sum()) + 1
