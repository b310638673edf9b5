"""What a window shares with its tabs."""

from dataclasses import dataclass

from app.jobs.job_queue import JobQueues
from app.model_slot import ModelSlot
from app.settings import WindowSettings
from app.tabs.ways_between_tabs import WaysBetweenTabs
from core.runs.folder import Workspace


@dataclass(frozen=True, slots=True)
class Context:
    """Handed on by each controller to those below it.

    Attributes:
        slot: Of the one open model.
        settings: What is remembered between two starts.
    """

    workspace: Workspace
    queues: JobQueues
    slot: ModelSlot
    settings: WindowSettings
    ways: WaysBetweenTabs
