"""What is told of a workspace that moves."""

from dataclasses import dataclass
from typing import ClassVar

from core.events.base import WorkProgress


@dataclass(frozen=True, slots=True)
class WorkspaceCopied(WorkProgress):
    """How much of a workspace stands at its new place, on another disk."""

    work: ClassVar = "Copying the workspace"
    unit: ClassVar = "bytes_"

    bytes_done: int
    bytes_total: int
