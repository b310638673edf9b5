"""How well a model foretells text that it was not trained on.

Shapes
    B  sequences in the batch    T  positions    V  vocabulary
"""

import sys
import time
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from core.control import StopRequested, StopToken
from core.events import Evaluated
from core.metrics import bits_per_byte, perplexity
from core.training.interruption import interruptible
from core.training.loop import Batch
from core.training.loss import counted_tokens, token_losses
from core.training.precision import Precision


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    batches: Iterable[Batch],
    byte_lengths: Tensor,
    precision: Precision,
    step: int,
    stop: StopToken,
) -> Evaluated | None:
    """Measure the model, in evaluation mode, over batches.

    Args:
        byte_lengths: The UTF-8 bytes that each token stands for, (V,), 0 for special tokens.

    Returns:
        Loss in nats per token over all that count; bits per byte over those that stand for text.
        None where `stop` was set before all batches were read.
    """
    started = time.perf_counter()
    model.eval()
    nats, tokens, text_nats, text_bytes = 0.0, 0, 0.0, 0
    try:
        with interruptible(model, stop):
            for x, y in batches:
                stop.raise_if_asked()
                with precision.autocast():
                    losses = token_losses(model, x, y)  # (B, T)
                lengths = byte_lengths[y.clamp(min=0)] * (y >= 0)  # (B, T)
                nats += losses.sum().item()
                tokens += counted_tokens(y)
                text_nats += losses[lengths > 0].sum().item()
                text_bytes += int(lengths.sum())
    except StopRequested:
        return None
    loss = nats / max(1, tokens)
    return Evaluated(
        step=step,
        loss=loss,
        perplexity=min(perplexity(loss), sys.float_info.max),  # JSON and plots know no infinity
        bits_per_byte=bits_per_byte(text_nats, text_bytes) if text_bytes else 0.0,
        seconds=time.perf_counter() - started,
    )
