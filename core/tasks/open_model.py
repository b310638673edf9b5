"""The request "open a model": a checkpoint of a run, in memory and ready to write."""

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import Event, ModelOpened, Notice
from core.runs.catalog import Catalog, has_conversations
from core.runs.folder import Workspace
from core.runs.pointers import lost_pointers, pointed_step

if TYPE_CHECKING:
    from core.model.transformer import Transformer
    from core.runs.loading import LoadedModel


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model in a closed box: whoever holds it sees these facts, and hands it to `complete` and `reply`."""

    name: str
    step: int
    parameters: int
    context_length: int
    has_conversations: bool
    sampling: SamplingConfig
    loaded: "LoadedModel"


def open_model(
    workspace: Workspace, name: str, checkpoint: str, stop: StopToken
) -> Generator[Event, None, OpenModel]:
    """Open the checkpoint called "best", "last" or by its step, on the device that the run's settings choose.

    Where that is not to be had, or too small for the model, it is opened on the processor.

    Raises:
        UnknownRunError, NoCheckpointError, DamagedRunError, DamagedCheckpointError, WrongShapeError,
        ModelTooLargeError: As their names say.
    """
    del stop  # opening takes a moment, and there is nothing to keep of half a model
    from core.runs.loading import load_model  # here, because it imports torch

    started = time.perf_counter()
    run = Catalog(workspace).folder(name)
    if checkpoint in lost_pointers(run):
        step = pointed_step(run, checkpoint)
        yield Notice(f"The file that names the {checkpoint} checkpoint is damaged; step {step:,} is opened.")
    loaded = load_model(run, checkpoint)
    _move(loaded.model, loaded.config.training.device)
    model = OpenModel(
        name=name,
        step=loaded.state.step,
        parameters=loaded.state.parameters,
        context_length=loaded.config.model.context_length,
        has_conversations=has_conversations(run, loaded.state),
        sampling=loaded.config.sampling,
        loaded=loaded,
    )
    yield ModelOpened(
        name=name,
        step=model.step,
        parameters=model.parameters,
        context_length=model.context_length,
        has_conversations=model.has_conversations,
        seconds=time.perf_counter() - started,
    )
    return model


def _move(model: "Transformer", requested: str) -> None:
    """Put a model that is on the processor where it writes fastest."""
    import torch

    from core.training.precision import choose_device

    try:
        model.to(choose_device(requested) or "cpu")
    except torch.OutOfMemoryError:  # a part of it can be there already
        model.to("cpu")
