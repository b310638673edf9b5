"""Weights in a half type beside float32 masters: each is cast once per optimizer step, not once per pass.

Source:
    Micikevicius et al., "Mixed Precision Training", 2018, section 3.1.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from core.model.transformer import Transformer


class LowPrecisionCopy:
    """A model like `masters` whose linear layers have weights of `dtype`, and whose hidden states have it too.

    Embeddings and norms are the masters' own, in float32: a sum of many small gradients stays exact. A gradient of
    the copy is added to its master's, in float32, as soon as it is there, and then freed.
    """

    def __init__(self, masters: Transformer, dtype: torch.dtype) -> None:
        linears = {name for name, module in masters.named_modules() if isinstance(module, nn.Linear)}
        cast = {id(p) for name in linears for p in masters.get_submodule(name).parameters()}
        memo: dict[int, Any] = {id(p): p for p in masters.parameters() if id(p) not in cast}
        if masters.config.tied_embeddings:  # the table stays exact, the head has a copy of it
            memo[id(masters.token_embedding.weight)] = masters.token_embedding.weight
        self.model: Transformer = copy.deepcopy(masters, memo)
        self.model.hidden_dtype = dtype
        self._masters: list[Tensor] = []
        self._copies: list[Tensor] = []
        for name in sorted(linears):
            self._replace(masters.get_submodule(name), self.model.get_submodule(name), dtype)
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over the masters' weights, after a step has changed them."""
        torch._foreach_copy_(self._copies, self._masters)

    def _replace(self, source: nn.Module, target: nn.Module, dtype: torch.dtype) -> None:
        for name, master in source.named_parameters():
            weight = nn.Parameter(master.detach().to(dtype), requires_grad=master.requires_grad)
            setattr(target, name, weight)
            if master.requires_grad:  # what is not trained stays as it is copied here
                weight.register_post_accumulate_grad_hook(_add_to(master))
                self._masters.append(master)
                self._copies.append(weight)


def _add_to(master: nn.Parameter) -> Callable[[Tensor], None]:
    """A hook that moves a gradient to the master's."""

    def add(weight: Tensor) -> None:
        assert weight.grad is not None
        if master.grad is None:
            master.grad = weight.grad.float()
        else:
            master.grad += weight.grad
        weight.grad = None

    return add
