"""The weights before the first step, a pure function of the settings and a seed."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from core.config.model import ModelConfig

RESIDUAL_ENDS = ("attention.out_proj.weight", "feed_forward.down_proj.weight")


@torch.no_grad()
def initialise(model: nn.Module, config: ModelConfig, seed: int) -> None:
    """Draw every weight matrix and embedding from a normal distribution of mean 0; biases 0, norms 1 and 0.

    The standard deviation of a matrix from n_in to n_out is `initial_std` ("normal"), sqrt(2 / n_in)
    ("kaiming") or sqrt(2 / (n_in + n_out)) ("xavier"); an embedding's is `embedding_std`.
    With `zero_init_residual` the matrices that end a residual branch are 0, so that each block begins as identity.
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
