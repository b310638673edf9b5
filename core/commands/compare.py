"""What `generate` does with several models: one prompt and seed for two of them, or for every checkpoint of a run."""

from typing import Any

import typer

from core.commands.place import perform
from core.config.sampling import SamplingConfig
from core.config.toml import checked
from core.control import StopToken
from core.events.base import Notice, Task
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.runs.pointers import find_checkpoint
from core.tasks.chat.compare_replies import (
    ComparedModels,
    ComparedPrompt,
    Side,
    compare_replies,
    replies_at_checkpoints,
)
from core.tasks.models.run_checkpoints import RunCheckpoints

ALL = "all"  # of a run's checkpoints


def generate_several(
    context: typer.Context,
    name: str,
    checkpoint: str,
    against: str | None,
    prompt: str,
    changes: dict[str, Any],
    chat: bool | None,
) -> int:
    """Generate text with two models, or with every checkpoint of a run.

    Args:
        changes: To the sampling settings of the run.
        chat: Whether the prompt is a message; by default it is where all models were trained on conversations.
    """
    workspace: Workspace = context.obj.workspace
    workspace.look()
    if against is not None and checkpoint == ALL:
        raise typer.BadParameter("give one checkpoint to compare with --against", param_hint="--checkpoint")
    catalog, sides = Catalog(workspace), [Side(name, checkpoint)]
    if against is not None:
        sides.append(Side(*catalog.run_and_checkpoint(against, name)))
    for side in sides if checkpoint != ALL else ():
        find_checkpoint(catalog.folder(side.name), side.checkpoint)  # or say that there is none, first of all
    sampling = checked(SamplingConfig, catalog.config(name).sampling.model_dump() | changes)
    answers = chat
    if answers is None:
        answers = all(bool(catalog.summary(side.name).has_conversations) for side in sides)
    asked = ComparedPrompt(prompt, answers, sampling).seeded()

    def stream(stop: StopToken) -> Task[object]:
        yield Notice(f"Seed {asked.sampling.seed}.")
        if against is None:
            return (yield from replies_at_checkpoints(RunCheckpoints(workspace, name), asked, stop))
        return (yield from compare_replies(ComparedModels(workspace), sides, asked, stop))

    return perform(context, stream, writes=False)[1]
