"""Cross-entropy over the tokens that count.

Shapes
    B  sequences in the batch    C  model width
    T  positions                 V  vocabulary
    N  positions of one chunk
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.batches.sampler import IGNORED
from core.model.transformer import Transformer
from core.training.interruption import is_compiled

LOGITS_AT_ONCE = 1 << 26  # 256 MB of float32: a larger batch's head and loss are computed chunk by chunk


def token_losses(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The loss at each position, in nats; 0 at padding.

    Args:
        x: Token ids, (B, T).
        y: The tokens that follow, (B, T), -100 where there is none.

    Returns:
        (B, T), float32. Log-softmax runs in log space and float32, whatever the logits' type.
    """
    losses = [
        F.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="none")  # (N,)
        for logits, labels in _logits_and_labels(model, x, y)
    ]
    return torch.cat(losses).unflatten(0, y.shape)  # (B, T)


def summed_loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The sum of the losses over the tokens that count, in nats, a scalar. Arguments as for `token_losses`."""
    losses = [
        F.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="sum")
        for logits, labels in _logits_and_labels(model, x, y)
    ]
    return losses[0] if len(losses) == 1 else torch.stack(losses).sum()


def _logits_and_labels(model: nn.Module, x: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits (N, V) and labels (N,) of all positions; in chunks where all at once would be large.

    At a vocabulary of 50,257 the head and its loss are a third of a pass: in chunks they need less memory on the
    way back, and a stop is noticed between two of them.
    """
    if is_compiled(model) or not isinstance(model, Transformer):
        yield model(x).flatten(0, 1), y.flatten()
        return
    positions = LOGITS_AT_ONCE // model.vocab_size
    if y.numel() <= positions:
        yield model(x).flatten(0, 1), y.flatten()
        return
    hidden = model.hidden(x).flatten(0, 1)  # (B * T, C)
    for part, labels in zip(hidden.split(positions), y.flatten().split(positions), strict=True):
        yield model.head(part), labels


def counted_tokens(y: Tensor) -> int:
    """How many labels are not padding."""
    return int((y != IGNORED).sum())
