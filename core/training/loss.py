"""Cross-entropy over the tokens that count.

Shapes
    B  sequences in the batch    C  model width
    T  positions                 V  vocabulary
    N  positions of one chunk    W  the vocabulary, padded
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.batches.sampler import IGNORED
from core.model.requirements import LOGITS_AT_ONCE
from core.model.transformer import Transformer
from core.training.interruption import is_compiled, look_for_stop

TAUGHT = 0.7  # what teachers count for in the loss
PADDED_TO = {"cuda": 64}  # rows of the head, on such devices: tensor cores read whole tiles


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
        for logits, labels in logits_and_labels(model, x, y)
    ]
    return torch.cat(losses).unflatten(0, y.shape)  # (B, T)


def summed_loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The sum of the losses over the tokens that count, in nats, a scalar. Arguments as for `token_losses`."""
    if _is_small(model, y) or not torch.is_grad_enabled():
        return torch.stack(
            [
                F.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="sum")
                for logits, labels in logits_and_labels(model, x, y)
            ]
        ).sum()
    assert isinstance(model, Transformer)
    hidden = model.hidden(x).flatten(0, 1)  # (B * T, C)
    rows = max(1, LOGITS_AT_ONCE // model.vocab_size)
    loss: Tensor = _LinearCrossEntropy.apply(hidden, model.head.weight, model.head.bias, y.flatten(), rows)
    return loss


def taught_loss(model: nn.Module, teachers: Sequence[nn.Module], x: Tensor, y: Tensor) -> Tensor:
    """As `summed_loss`, where `teachers` say what follows, too: the cross-entropy with 0.3 of the label and 0.7 of their mean.

    Source:
        Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network", 2015, section 2, at a temperature of 1;
        from models of the same shape and text: Furlanello et al., "Born-Again Neural Networks", 2018.
    """
    labels = y.flatten()  # (N,)
    counted = labels != IGNORED
    with torch.no_grad():
        said = sum(teacher(x).flatten(0, 1)[counted].float().softmax(dim=-1) for teacher in teachers)
    logits = model(x).flatten(0, 1)[counted].float()  # (N, V)
    by_label = F.cross_entropy(logits, labels[counted], reduction="sum")
    by_teachers = F.cross_entropy(logits, said / len(teachers), reduction="sum")
    return torch.lerp(by_label, by_teachers, TAUGHT)


def logits_and_labels(model: nn.Module, x: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits (N, V) and labels (N,) of all positions; in chunks where all at once would be large. Arguments as for `token_losses`."""
    if _is_small(model, y):
        yield model(x).flatten(0, 1), y.flatten()
        return
    assert isinstance(model, Transformer)
    rows = max(1, LOGITS_AT_ONCE // model.vocab_size)
    hidden = model.hidden(x).flatten(0, 1)  # (B * T, C)
    for part, labels in zip(hidden.split(rows), y.flatten().split(rows), strict=True):
        yield model.head(part), labels


def _is_small(model: nn.Module, y: Tensor) -> bool:
    """Whether all logits fit into one chunk. A compiled model is one whole, whatever its size."""
    return (
        is_compiled(model)
        or not isinstance(model, Transformer)
        or y.numel() * model.vocab_size <= LOGITS_AT_ONCE
    )


class _LinearCrossEntropy(torch.autograd.Function):
    """The head and the summed loss in chunks, each with its gradient on the way: no two chunks of logits exist at once.

    At a vocabulary of 50,257 and 12 windows of 1,024 tokens all logits would take 2.3 GiB, and the loss as much again.
    With p = softmax(logits), the gradient of the logits is p - 1 at the label and p elsewhere.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        rows: int,
    ) -> Tensor:
        ctx.dtype, V, device = weight.dtype, len(weight), hidden.device.type
        padding = -V % PADDED_TO.get(device, 1)
        if torch.is_autocast_enabled(device):
            weight = weight.to(torch.get_autocast_dtype(device))  # once, not for each chunk
        wide = F.pad(weight, (0, 0, 0, padding)) if padding else weight  # (W, C)
        wide_bias = bias if bias is None else F.pad(bias, (0, padding))  # (W,)
        exact = torch.promote_types(hidden.dtype, torch.float32)
        loss = hidden.new_zeros((), dtype=exact)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight, dtype=exact)
        grad_bias = None if bias is None else torch.zeros_like(bias, dtype=exact)
        for x, y, grad_x in zip(
            hidden.split(rows), labels.split(rows), grad_hidden.split(rows), strict=True
        ):  # (N, C), (N,), (N, C)
            look_for_stop()
            scores = F.linear(x, wide, wide_bias)  # (N, W), in the head's number format
            logits = scores.to(exact)  # (N, W)
            logits[:, V:] = -torch.inf  # of no weight, and without a gradient
            counts, label = (y != IGNORED).to(exact)[:, None], y.clamp(min=0)[:, None]  # 2 x (N, 1)
            log_total = logits.logsumexp(dim=-1, keepdim=True)  # (N, 1)
            loss += ((log_total - logits.gather(1, label)) * counts).sum()
            grad = logits.sub_(log_total).exp_()  # (N, W): the probabilities, so far
            grad.scatter_add_(1, label, -torch.ones_like(log_total)).mul_(counts)
            grad_bias = None if grad_bias is None else grad_bias.add_(grad.sum(0)[:V])
            grad = grad.to(scores.dtype)  # (N, W)
            look_for_stop()
            grad_x.copy_(grad @ wide)  # (N, C)
            look_for_stop()
            grad_weight += (grad.t() @ x)[:V]  # (V, C)
        ctx.grads = grad_hidden, grad_weight, grad_bias
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (scale,) = grads
        grad_hidden, grad_weight, grad_bias = (None if g is None else g.mul_(scale) for g in ctx.grads)
        assert grad_weight is not None
        return grad_hidden, grad_weight.to(ctx.dtype), grad_bias, None, None


def counted_tokens(y: Tensor) -> Tensor:
    """How many labels are not padding, a scalar: to read it from a GPU would wait for all that it has to do."""
    return (y != IGNORED).sum()
