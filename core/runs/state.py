"""What a checkpoint says of itself in `state.json`: plain numbers, readable without torch."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import DamagedCheckpointError


class CheckpointState(BaseModel):
    """The facts beside the weights. Losses are in nats per token, times in seconds, counts since the run began."""

    model_config = ConfigDict(frozen=True)

    format: int = 1
    step: int
    tokens: int
    seconds: float
    parameters: int
    vocab_size: int
    precision: str
    train_loss: float | None
    val_loss: float | None
    best_val_loss: float | None
    best_step: int | None
    dataset: str
    scaler: dict[str, Any]
    sha256: dict[str, str] = {}


def read_state(checkpoint: Path) -> CheckpointState:
    """The state of the checkpoint in this folder.

    Raises:
        DamagedCheckpointError: The file is missing, cut short or of a later version.
    """
    try:
        record = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
        state = CheckpointState.model_validate(record)
    except FileNotFoundError as cause:
        raise DamagedCheckpointError(checkpoint, "its state.json is missing") from cause
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, ValidationError) as cause:
        raise DamagedCheckpointError(checkpoint, "its state.json cannot be read") from cause
    if state.format != 1:
        raise DamagedCheckpointError(
            checkpoint, f"it was written in format {state.format}, by a later version"
        )
    return state
