"""One transformer block: attention, then a feed-forward network, each beside a residual path.

Shapes
    B  sequences in the batch      C  model width
    T  positions being computed    F  feed-forward width
"""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from core.config.model import ModelConfig
from core.model.attention import Attention
from core.model.kv_cache import LayerCache

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": partial(nn.GELU, approximate="tanh"),
    "relu": nn.ReLU,
}


class FeedForward(nn.Module):
    """Widens each position by itself, bends it, and narrows it again."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        C, F, bias = config.d_model, config.d_ff, config.feed_forward_bias
        self.up_proj = nn.Linear(C, F, bias=bias)
        self.activation = ACTIVATIONS[config.activation]()
        self.dropout = nn.Dropout(config.dropout)
        self.down_proj = nn.Linear(F, C, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        hidden = self.activation(self.up_proj(x))  # (B, T, F)
        return self.down_proj(self.dropout(hidden))  # (B, T, C)


class Block(nn.Module):
    """Two residual steps: x + f(norm(x)) with norm "pre", norm(x + f(x)) with "post", x + f(x) with "none".

    Source:
        Pre-norm: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3.
        Post-norm: Vaswani et al., "Attention Is All You Need", 2017, section 3.1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_first = config.norm == "pre"
        self.norm_1 = make_norm(config)
        self.attention = Attention(config)
        self.norm_2 = make_norm(config) if config.feed_forward else nn.Identity()
        self.feed_forward = FeedForward(config) if config.feed_forward else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, cache: LayerCache | None = None, rotary: Tensor | None = None) -> Tensor:
        """(B, T, C) to (B, T, C); `cache` and `rotary` are the attention's."""
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm_1(x), cache, rotary))  # (B, T, C)
        else:
            x = self.norm_1(x + self.dropout(self.attention(x, cache, rotary)))  # (B, T, C)
        if self.feed_forward is None:
            return x
        if self.norm_first:
            return x + self.dropout(self.feed_forward(self.norm_2(x)))  # (B, T, C)
        return self.norm_2(x + self.dropout(self.feed_forward(x)))  # (B, T, C)


def make_norm(config: ModelConfig) -> nn.Module:
    """Layer norm over the width with population variance, scale and shift; nothing where there is none."""
    return nn.Identity() if config.norm == "none" else nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
