"""Cross-entropy over the tokens that count.

Shapes
    B  sequences in the batch    T  positions    V  vocabulary
"""

import torch.nn.functional as F
from torch import Tensor, nn

from core.batches.sampler import IGNORED


def token_losses(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The loss at each position, in nats; 0 at padding.

    Args:
        x: Token ids, (B, T).
        y: The tokens that follow, (B, T), -100 where there is none.

    Returns:
        (B, T), float32. Log-softmax runs in log space and float32, whatever the logits' type.
    """
    logits = model(x)  # (B, T, V)
    losses = F.cross_entropy(
        logits.flatten(0, 1).float(), y.flatten(), ignore_index=IGNORED, reduction="none"
    )
    return losses.unflatten(0, y.shape)  # (B, T)


def summed_loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The sum of the losses over the tokens that count, in nats, a scalar. Arguments as for `token_losses`."""
    logits = model(x)  # (B, T, V)
    return F.cross_entropy(logits.flatten(0, 1).float(), y.flatten(), ignore_index=IGNORED, reduction="sum")


def counted_tokens(y: Tensor) -> int:
    """How many labels are not padding."""
    return int((y != IGNORED).sum())
