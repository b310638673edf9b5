"""In which precision a run computes: what was chosen, or what a few measured steps say, remembered."""

import hashlib
import os
from collections.abc import Generator
from typing import cast, get_args

import torch

from core.batches.dataset import Dataset
from core.batches.sampler import Windows, batch_at
from core.config.run import RunConfig
from core.control import StopToken
from core.errors import BadSettingError
from core.events import Event, Notice
from core.model.transformer import Transformer
from core.runs.folder import Workspace
from core.runs.measurements import remember, remembered
from core.training.loop import accumulate_gradients
from core.training.precision import TRIAL_TOKENS, Precision, PrecisionName, measured_choice


def choose_precision(
    model: Transformer,
    config: RunConfig,
    dataset: Dataset,
    workspace: Workspace,
    stop: StopToken,
    before: str = "",
) -> Generator[Event, None, PrecisionName | None]:
    """The precision to train in. "auto" measures once per shape and machine, so that two runs alike stay alike.

    Args:
        before: What a run that goes on has computed in; "auto" stays with it where the device can.

    Returns:
        The precision; None where `stop` was set before it was known.

    Raises:
        BadSettingError: float16 was chosen for a processor.
    """
    requested, device = config.training.precision, model.device
    on_cpu = device.type == "cpu"
    if requested == "float16" and on_cpu:
        raise BadSettingError(
            "training.precision", "cannot be float16 on a processor: choose auto or bfloat16"
        )
    if requested != "auto":
        return requested
    key = _key(config, model)
    known = before if before and not (before == "float16" and on_cpu) else remembered(workspace, key)
    if known in get_args(PrecisionName):  # else a damaged file: it is measured again
        return cast(PrecisionName, known)
    context_length, training = config.model.context_length, config.training
    rows = min(training.batch_size, max(1, TRIAL_TOKENS // context_length))
    windows = Windows(context_length, training.window_overlap, rows)
    x, y = batch_at(dataset.tokens("train"), training.seed, 0, windows)
    batch = x[:, :TRIAL_TOKENS].to(device), y[:, :TRIAL_TOKENS].to(device)

    def step_in(precision: Precision) -> None:
        try:
            accumulate_gradients(model, [batch], precision, stop)
        finally:
            model.zero_grad(set_to_none=True)

    measured = measured_choice(device, step_in, stop)
    if measured is None:
        return None
    name, speed_up = measured
    remember(workspace, key, name)
    yield Notice(_explanation(name, speed_up, device), is_detail=True)
    return name


def _key(config: RunConfig, model: Transformer) -> str:
    """What the measurement depends on, in few characters."""
    shape = f"{config.model.model_dump_json()} {config.training.batch_size} {model.vocab_size}"
    machine = f"{torch.__version__} {torch.backends.cpu.get_cpu_capability()} {torch.get_num_threads()}"
    digest = hashlib.sha256(f"{shape} {machine} {os.cpu_count()}".encode()).hexdigest()[:16]
    return f"precision {model.device} {digest}"


def _explanation(name: PrecisionName, speed_up: float, device: torch.device) -> str:
    if device.type != "cpu":
        return f"Precision: {name}, as this GPU computes it in hardware."
    return f"Precision: {name}. bfloat16 ran {speed_up:.1f} times as fast as float32 in a short trial."
