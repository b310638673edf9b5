"""The weights before the first step, a pure function of the settings and a seed."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from core.config.model import ModelConfig

SHARED_STDS = 20.0  # of the embeddings, in the dimension that they share
LOUDNESS = 3.0  # of the entries of a key that all positions share
LOWEST_FREQUENCY = 0.3  # radians per position
RESIDUAL_ENDS = ("attention.out_proj.weight", "feed_forward.down_proj.weight")


@torch.no_grad()
def initialise(model: nn.Module, config: ModelConfig, seed: int) -> None:
    """Draw every weight matrix and embedding from a normal distribution of mean 0; biases 0, norms 1 and 0.

    The standard deviation of a matrix from n_in to n_out is `initial_std` ("normal"), sqrt(2 / n_in)
    ("kaiming") or sqrt(2 / (n_in + n_out)) ("xavier"); an embedding's is `embedding_std`.
    With `zero_init_residual` the matrices that end a residual branch are 0, so that each block begins as identity.
    `previous_token_heads` begin as `_look_back` says.
    Drawn on the CPU in the order of the parameters' names, so that one seed means one model everywhere.

    Source:
        He et al., "Delving Deep into Rectifiers", 2015, section 2.2; Glorot and Bengio, "Understanding the
        difficulty of training deep feedforward neural networks", 2010, section 4.2; the residual scaling:
        Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3; zeros at
        their place: Zhang et al., "Fixup Initialization", 2019, section 3.
    """
    generator = torch.Generator().manual_seed(seed)
    norms = {
        id(p)
        for module in model.modules()
        if isinstance(module, nn.LayerNorm | nn.RMSNorm)
        for p in module.parameters()
    }
    for name, parameter in sorted(model.named_parameters()):
        if id(parameter) in norms:
            continue
        if parameter.dim() < 2 or (config.zero_init_residual and name.endswith(RESIDUAL_ENDS)):
            parameter.zero_()
            continue
        std = config.embedding_std if "embedding" in name else matrix_std(parameter.shape, config, name)
        parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))
    if config.previous_token_heads and config.positions == "rotary":
        _look_back(model, config)


def _look_back(model: Any, config: ModelConfig) -> None:
    """Let the first heads of each block attend to the position before, whatever stands there.

    All embeddings begin with the same large number in their first dimension. From it these heads make a key k that is
    the same everywhere, and a query that is k turned back by one position: the score of what stands d positions before
    has the sum of cos(f (d - 1)) over the frequencies f that are high enough to tell neighbours apart. What continued an
    earlier occurrence of a token can only be found with such a head, which a model otherwise takes hundreds of steps to
    form. In the logits a dimension that all embeddings share adds the same to each, and so nothing.

    Source:
        Olsson et al., "In-context Learning and Induction Heads", 2022 (arXiv:2209.11895), for what such heads are for.
    """
    C, D, half = config.d_model, config.head_width, config.head_width // 2
    frequency = config.position_base ** (-torch.arange(half) / half)  # (D / 2,)
    loud = LOUDNESS * (frequency >= LOWEST_FREQUENCY)  # (D / 2,)
    key = torch.cat((loud, torch.zeros(half)))  # (D,)
    query = torch.cat((loud * frequency.cos(), -loud * frequency.sin()))  # (D,)
    shared = SHARED_STDS * config.embedding_std
    model.token_embedding.weight[:, 0] = shared
    normed = shared / math.sqrt(((C - 1) * config.embedding_std**2 + shared**2) / C)
    for block in model.blocks:
        rows = block.attention.qkv_proj.weight  # (H D + 2 K D, C)
        for head in range(min(config.previous_token_heads, config.n_heads)):
            of_keys = (config.n_heads + head * config.kv_heads // config.n_heads) * D
            rows[head * D : (head + 1) * D, 0] = query / normed
            rows[of_keys : of_keys + D, 0] = key / normed


def matrix_std(shape: torch.Size, config: ModelConfig, name: str = "") -> float:
    """The standard deviation that a weight of this shape, (n_out, n_in), is drawn with."""
    n_out, n_in = shape
    if name.endswith("qkv_proj.weight"):
        n_out = config.qkv_rows[0]  # three projections in one matrix: each counts for itself
    std = {
        "normal": config.initial_std,
        "kaiming": math.sqrt(2 / n_in),
        "xavier": math.sqrt(2 / (n_in + n_out)),
    }[config.initialisation]
    if config.scale_residual and name.endswith(RESIDUAL_ENDS):
        std /= math.sqrt(2 * config.n_layers)
    return std


class SkipInit(TorchFunctionMode):
    """Within it, `torch.nn`'s layers draw no weights of their own: memory is allocated, and its content left open."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Leave out what `torch.nn.init` would fill a tensor with; call everything else."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == nn.init.__name__:
            return kwargs.get("tensor", args[0] if args else None)
        return func(*args, **kwargs)
