"""How a stop or a pause is noticed inside a forward or backward pass, which can take half a minute on a processor."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from core.control import StopToken


@contextmanager
def interruptible(model: nn.Module, stop: StopToken) -> Iterator[None]:
    """Inside, the model's passes end as soon as `stop` is set, and wait while it is held.

    Each linear layer checks, on the way forward and on the way back: between two of them lies a fraction of a
    second even in a large model, and a check takes microseconds. A compiled model does not check, for its passes
    run no hooks.

    Raises:
        StopRequested: `stop` was set. Gradients can be there in part.
    """

    def check(*_: object) -> None:
        stop.raise_if_asked()

    def check_and_hook(_module: nn.Module, _input: object, output: Tensor) -> None:
        check()
        if output.requires_grad:
            output.register_hook(check)

    layers = [] if is_compiled(model) else [m for m in model.modules() if isinstance(m, nn.Linear)]
    handles = [layer.register_forward_hook(check_and_hook) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def is_compiled(model: nn.Module) -> bool:
    """True once `model.compile()` was called."""
    return model._compiled_call_impl is not None
