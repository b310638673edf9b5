"""How a stop or a pause is noticed inside a forward or backward pass, which can take half a minute on a processor."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

from core.control import StopToken

_STOP: ContextVar[StopToken | None] = ContextVar("stop of the work under way", default=None)


def look_for_stop() -> None:
    """End or wait here, as whoever began the work asks for: between two computations that take long by themselves.

    Raises:
        StopRequested: The work is inside `stoppable`, and its stop was set.
    """
    stop = _STOP.get()
    if stop is not None:
        stop.raise_if_asked()


@contextmanager
def stoppable(stop: StopToken) -> Iterator[None]:
    """Inside, `look_for_stop` looks at `stop`."""
    before = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(before)


@contextmanager
def interruptible(model: nn.Module, stop: StopToken) -> Iterator[None]:
    """Inside, the model's passes end as soon as `stop` is set, and wait while it is held.

    Each linear layer checks, on the way forward and on the way back, and what takes long between two of them does by
    `look_for_stop`; a check takes microseconds. What is compiled does not check, for a hook would be
    compiled with it.

    Raises:
        StopRequested: `stop` was set. Gradients can be there in part.
    """

    def check(*_: object) -> None:
        stop.raise_if_asked()

    def check_and_hook(_module: nn.Module, _input: object, output: Tensor) -> None:
        check()
        if output.requires_grad:
            output.register_hook(check)

    handles = [layer.register_forward_hook(check_and_hook) for layer in _linears(model)]
    try:
        with stoppable(stop):
            yield
    finally:
        for handle in handles:
            handle.remove()


def _linears(module: nn.Module) -> Iterator[nn.Linear]:
    """The linear layers that are not part of anything compiled."""
    if is_compiled(module):
        return
    if isinstance(module, nn.Linear):
        yield module
    for child in module.children():
        yield from _linears(child)


def is_compiled(module: nn.Module) -> bool:
    """True once `module.compile()` was called."""
    return module._compiled_call_impl is not None
