"""What a model considered where tokens were drawn: its own distribution, before penalty, temperature and filters.

Shapes
    N  tokens    V  vocabulary    K  likeliest tokens
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Considered(NamedTuple):
    """Of a token that was drawn. `likeliest` are the ids of the K likeliest tokens, `shares` their probabilities."""

    probability: float
    rank: int  # from 1
    entropy: float  # in bits
    likeliest: list[int]
    shares: list[float]


def probability_of(logits: Tensor, token_id: int) -> float:
    """The probability of a token where the scores, (V,), were those."""
    probability: float = logits.softmax(dim=-1)[token_id].item()
    return probability


@torch.inference_mode()
def consider(logits: Sequence[Tensor], token_ids: Sequence[int], n_likeliest: int) -> list[Considered]:
    """What there is to say of the places of tokens. Several at once take little longer than one.

    Args:
        logits: The scores in each place, N x (V,).
        token_ids: What was drawn there.
    """
    log_probs = torch.stack(list(logits)).log_softmax(dim=-1)  # (N, V)
    drawn = log_probs.gather(1, torch.tensor(token_ids, device=log_probs.device)[:, None])  # (N, 1)
    ranks = (log_probs > drawn).sum(dim=1) + 1  # (N,)
    nats = torch.linalg.vecdot(log_probs.exp(), log_probs)  # (N,), the entropies' negatives
    values, ids = log_probs.topk(min(n_likeliest, log_probs.shape[1]))  # 2 x (N, K)
    rows = torch.cat((drawn, values), dim=1).exp().tolist()  # N x (1 + K)
    return [
        Considered(probability, rank, max(0.0, -entropy / math.log(2)), likeliest, shares)
        for (probability, *shares), rank, entropy, likeliest in zip(
            rows, ranks.tolist(), nats.tolist(), ids.tolist(), strict=True
        )
    ]
