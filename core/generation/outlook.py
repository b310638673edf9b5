"""What may be drawn next: the model's distribution, what the sampler makes of it, and which filter ruled a token out.

Shapes
    V  vocabulary    K  tokens that top-k leaves, ranked
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config.sampling import SamplingConfig
from core.generation.sampling import (
    add_biases,
    apply_filters,
    count_tokens,
    discourage,
    penalise,
    seen_tokens,
)

LEFT, GREEDY, TOP_K, TOP_P, MIN_P = range(5)
FILTERS = ("", "greedy", "top-k", "top-p", "min-p")  # what ruled a token out, by these numbers


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Every token of the vocabulary, by its id; (V,) each.

    `probs` are the model's own, `final` those that the next token is drawn with, 0 where it is ruled out.
    """

    probs: Tensor
    final: Tensor
    removed_by: Tensor  # numbers of `FILTERS`
    seen: Tensor  # True where the penalty counts a token
    first: Tensor  # the ids of the likeliest in the sampler's order, those that are ruled out too; not all V
    entropy: float  # of `probs`, bits
    final_entropy: float  # of `final`, bits

    @property
    def left(self) -> int:
        """How many tokens are left to draw from."""
        return int((self.removed_by == LEFT).sum())


def outlook(
    logits: Tensor, history: Sequence[int], config: SamplingConfig, n_first: int, n_written: int = 0
) -> Outlook:
    """What the sampler makes of the model's scores; its steps are those of `draw`.

    Args:
        logits: (V,).
        history: What the penalty counts, the oldest token first.
        n_written: How many tokens at the end of it are the reply's, which frequency and presence penalties count.
        n_first: How many of the likeliest tokens are to be ranked.
    """
    logits = logits.float()
    counted = history if config.repetition_penalty != 1 else ()
    seen = seen_tokens(counted, config.repetition_window, logits)  # (V,)
    penalised = penalise(logits, seen, config.repetition_penalty)  # (V,)
    if config.frequency_penalty or config.presence_penalty:
        counts = count_tokens(history[len(history) - n_written :], logits)  # (V,)
        seen = seen | (counts > 0)  # (V,)
        penalised = discourage(penalised, counts, config.frequency_penalty, config.presence_penalty)  # (V,)
    penalised = add_biases(penalised, config.biases)  # (V,)
    final, removed_by = _drawn_with(penalised, config)
    probs = logits.softmax(dim=-1)  # (V,)
    first = penalised.topk(min(n_first, len(penalised))).indices  # (n_first,)
    return Outlook(probs, final, removed_by, seen, first, _entropy(probs), _entropy(final))


def _drawn_with(penalised: Tensor, config: SamplingConfig) -> tuple[Tensor, Tensor]:
    """The probabilities that are drawn with, and what ruled the other tokens out, 2 x (V,)."""
    final = torch.zeros_like(penalised)  # (V,)
    if config.is_greedy:
        removed_by = torch.full_like(penalised, GREEDY, dtype=torch.long)  # (V,)
        likeliest = penalised.argmax()
        final[likeliest], removed_by[likeliest] = 1.0, LEFT
        return final, removed_by
    filtered = apply_filters(penalised, config)
    removed_by = torch.full_like(penalised, TOP_K, dtype=torch.long)  # (V,)
    removed = torch.zeros_like(filtered.order)  # (K,)
    removed[filtered.after_min_p.isneginf()] = MIN_P
    removed[filtered.after_top_p.isneginf()] = TOP_P
    removed[filtered.scaled.isneginf()] = LEFT  # by no filter, however cold it is
    removed_by[filtered.order] = removed
    final[filtered.order] = filtered.after_min_p.softmax(dim=-1)
    return final, removed_by


def _entropy(probs: Tensor) -> float:
    """In bits."""
    return torch.special.entr(probs).sum().item() / math.log(2)
