"""What two models say of the same text: their losses, and how far their predictions are apart.

Shapes
    B  sequences in the batch    T  positions    V  vocabulary
    N  positions of one chunk    R  rows of it that are compared at once
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.batches.sampler import IGNORED
from core.metrics import Floats, kl_divergences, log_softmax
from core.training.loss import logits_and_labels

NUMBERS_AT_ONCE = 1 << 21  # 16 MiB of float64, several times


class BatchComparison(NamedTuple):
    """Losses of both models in nats, (B, T) float32 each, 0 at padding, and sums of D(P || Q) and D(Q || P) in nats."""

    losses: tuple[Tensor, Tensor]
    kl: float
    reverse_kl: float


@torch.inference_mode()
def compare(model: nn.Module, other: nn.Module, x: Tensor, y: Tensor) -> BatchComparison:
    """Run two models with one vocabulary over a batch. P is what `model` expects next at each position, Q what `other` does.

    Args:
        x, y: Token ids and those that follow, as for `token_losses`, on the processor.
    """
    losses: tuple[list[Tensor], list[Tensor]] = [], []
    kl = reverse_kl = 0.0
    chunks = zip(_chunks(model, x, y), _chunks(other, x, y), strict=True)
    for (p, labels), (q, _) in chunks:  # 2 x (N, V), (N,)
        for logits, kept in zip((p, q), losses, strict=True):
            kept.append(F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none"))  # (N,)
        counted = labels != IGNORED  # (N,)
        rows = max(1, NUMBERS_AT_ONCE // p.shape[-1])
        for p_rows, q_rows in zip(p[counted].split(rows), q[counted].split(rows), strict=True):  # 2 x (R, V)
            log_p, log_q = _log_probs(p_rows), _log_probs(q_rows)  # 2 x (R, V)
            kl += float(kl_divergences(log_p, log_q).sum())
            reverse_kl += float(kl_divergences(log_q, log_p).sum())
    own, others = (torch.cat(kept).unflatten(0, y.shape) for kept in losses)  # 2 x (B, T)
    return BatchComparison((own, others), kl, reverse_kl)


def _chunks(model: nn.Module, x: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits (N, V), float32, and labels (N,), computed where the model is."""
    device = next(model.parameters()).device
    for logits, labels in logits_and_labels(model, x.to(device), y.to(device)):
        yield logits.float().cpu(), labels.cpu()


def _log_probs(logits: Tensor) -> Floats:
    return log_softmax(logits.numpy())
