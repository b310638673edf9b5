"""What a model considered where a token was drawn: its own distribution, before penalty, temperature and filters.

Shapes
    V  vocabulary
"""

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Considered:
    """`rank` counts from 1, `entropy` is in bits; `likeliest` are token ids with their probabilities."""

    rank: int
    entropy: float
    likeliest: tuple[tuple[int, float], ...]


def consider(logits: Tensor, probs: Tensor, token_id: int, n_likeliest: int) -> Considered:
    """What there is to say of the place of a token.

    Args:
        logits: (V,).
        probs: Their softmax, (V,).
    """
    highest, ids = probs.topk(min(n_likeliest, len(probs)))  # 2 x (n_likeliest,)
    rank = int((logits > logits[token_id]).sum()) + 1
    # of -sum p log p, with log p = l - l_max + log p_max: no logarithm of all V
    nats = -(probs @ (logits - logits.max())).item() - math.log(highest[0].item())
    entropy = max(0.0, nats / math.log(2))
    return Considered(rank, entropy, tuple(zip(ids.tolist(), highest.tolist(), strict=True)))
