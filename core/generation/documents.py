"""A model's scores mixed with what followed the same tokens in its documents.

Shapes
    V  vocabulary
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor


class Documents(Protocol):
    """What knows how likely each token is by the documents alone."""

    def probs(self, ids: Sequence[int]) -> tuple[Any, float]:
        """Their distribution after tokens, (V,) of float64, and the weight that it deserves, from 0 to 1."""
        ...


class MixedScores(NamedTuple):
    """`logits` are the mixture's log-probabilities, and `shares` how much of each token's comes from the documents; (V,)."""

    logits: Tensor
    shares: Tensor


def mix_documents(logits: Tensor, documents: Documents, ids: Sequence[int], amount: float) -> MixedScores:
    """One distribution from a model's scores and the documents: (1 - w) p_model + w p_documents.

    Args:
        logits: (V,).
        ids: All that is in view, the newest token last.
        amount: What the documents' own weight is multiplied by, in (0, 1].
    """
    probs, weight = documents.probs(ids)
    return mix(logits, torch.from_numpy(probs), amount * weight)


def mix(logits: Tensor, documents: Tensor, weight: float) -> MixedScores:
    """The same of a distribution, (V,), and its weight, from 0 to 1."""
    from_documents = weight * documents  # (V,), float64
    # on the processor, because an Apple GPU has no float64
    probs = (1 - weight) * logits.cpu().double().softmax(dim=-1) + from_documents  # (V,)
    mixed = probs.log(), (from_documents / probs).nan_to_num()  # 2 x (V,)
    return MixedScores(*(tensor.to(logits.dtype).to(logits.device) for tensor in mixed))
