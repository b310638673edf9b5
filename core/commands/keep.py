"""The command for checkpoints that are kept for ever."""

from functools import partial
from typing import Annotated

import typer

from core.commands.arguments import named
from core.commands.place import perform, print_rows
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.runs.kept import kept_step
from core.tasks.keep_checkpoint import keep, let_go

app = typer.Typer()


@app.command(name="keep")
def keep_command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The run's name.")],
    checkpoint: Annotated[str, typer.Option(help="The checkpoint: best, last or a step number.")] = "best",
    label: Annotated[
        str | None, typer.Option("--as", metavar="LABEL", help="Keep it under this name.", callback=named)
    ] = None,
    remove: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Let a kept checkpoint go.", callback=named)
    ] = None,
) -> int:
    """Keep a checkpoint for ever under a name, or list those that are kept."""
    workspace: Workspace = context.obj.workspace
    if label and remove:
        raise typer.BadParameter("it cannot be combined with --as", param_hint="--remove")
    if label:
        _, code = perform(context, partial(keep, workspace, name, checkpoint, label))
        if code:
            return code
    if remove:
        perform(context, partial(let_go, workspace, name, remove))
    workspace.look()
    folder = Catalog(workspace).folder(name)
    rows = [{"name": kept, "step": kept_step(folder, kept)} for kept in Catalog(workspace).summary(name).kept]
    print_rows(context, "kept_checkpoint", ("name", "step"), rows)
    return 0
