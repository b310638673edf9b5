"""What a model gives the tokens of a prompt that a request wants to have measured.

Shapes
    N  tokens of the prompt after its first    V  vocabulary    K  likeliest tokens
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from core.events.base import Event
from core.model.transformer import Transformer
from core.training.loss import logits_and_labels


@dataclass(frozen=True, slots=True)
class TokenScore:
    """A token of a prompt, with logarithms of probabilities, in nats; the first one follows nothing and has none."""

    token_id: int
    logprob: float | None = None
    likeliest: tuple[tuple[int, float], ...] = ()  # the K likeliest in its place, with theirs


@dataclass(frozen=True, slots=True)
class PromptScored(Event):
    """The whole prompt of a reply, measured; `sample` counts the replies of a request from 1."""

    sample: int
    tokens: tuple[TokenScore, ...]


@torch.inference_mode()
def score_prompt(model: Transformer, ids: Sequence[int], n_likeliest: int) -> tuple[TokenScore, ...]:
    """Measure tokens, as many as the context holds at most, each by those before it, as `score` does."""
    row = torch.tensor([ids], device=model.device)  # (1, N + 1)
    scores = [TokenScore(ids[0])]
    for logits, labels in logits_and_labels(model, row[:, :-1], row[:, 1:]) if len(ids) > 1 else ():
        log_probs = logits.float().log_softmax(dim=-1)  # (N, V), or of a part of them
        values, likeliest = log_probs.topk(min(n_likeliest, log_probs.shape[1]))  # 2 x (N, K)
        own = log_probs.gather(1, labels[:, None]).squeeze(1)  # (N,)
        scores += map(
            TokenScore,
            labels.tolist(),
            own.tolist(),
            (
                tuple(zip(*pair, strict=True))
                for pair in zip(likeliest.tolist(), values.tolist(), strict=True)
            ),
        )
    return tuple(scores)
