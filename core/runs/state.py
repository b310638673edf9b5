"""What a checkpoint says of itself in `state.json`: plain numbers, readable without torch."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import DamagedCheckpointError

WEIGHTS = "model.safetensors"
OPTIMIZER = "optimizer.safetensors"


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


def check_file(checkpoint: Path, name: str, state: CheckpointState) -> Path:
    """The path of one of a checkpoint's tensor files, after comparing its SHA-256.

    Raises:
        DamagedCheckpointError: The file is missing, cut short or altered.
    """
    path = checkpoint / name
    try:
        if digest(path) != state.sha256.get(name, ""):
            raise DamagedCheckpointError(checkpoint, f"{name} is not what was written")
    except FileNotFoundError as cause:
        raise DamagedCheckpointError(checkpoint, f"{name} is missing") from cause
    except OSError as cause:
        raise DamagedCheckpointError(checkpoint, f"{name} cannot be read") from cause
    return path


def digest(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
