"""The command that measures how well a model predicts a text."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from core.commands.arguments import named, named_path
from core.commands.place import perform
from core.runs.catalog import Catalog
from core.tasks.models.compared_models import Side
from core.tasks.models.score_text import score_text

STANDARD_INPUT = Path("-")

app = typer.Typer()


@app.command()
def score(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The run's name.")],
    text: Annotated[
        Path,
        typer.Option(help="A text file; - reads standard input.", parser=named_path, metavar="FILE"),
    ],
    checkpoint: Annotated[
        str, typer.Option(help="The checkpoint: best, last, or the step of a checkpoint or snapshot.")
    ] = "best",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[@CHECKPOINT]",
            help="A second model to compare with: another run, or @STEP for another step of this run.",
            callback=named,
        ),
    ] = None,
) -> int:
    """Measure how well a run's model predicts a text: loss, perplexity, bits per byte, and KL divergence from another model."""
    workspace = context.obj.workspace
    source = sys.stdin.buffer if text == STANDARD_INPUT else text
    sides = [Side(name, checkpoint)]
    if against is not None:
        sides.append(Side(*Catalog(workspace).run_and_checkpoint(against, name)))
    return perform(context, partial(score_text, workspace, sides, source), writes=False)[1]
