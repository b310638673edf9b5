"""The command that looks a text up in what a run was trained on."""

from typing import Annotated

import typer

from core.commands.arguments import RunName, unicode_text
from core.commands.place import perform
from core.tasks.seen.look_up import look_up

app = typer.Typer()


@app.command()
def seen(
    context: typer.Context,
    name: RunName,
    text: Annotated[
        str,
        typer.Argument(help="The text, such as a reply; - reads standard input.", callback=unicode_text),
    ],
) -> int:
    """Find the passages of a text that occur word for word in the text that a run was trained on.

    The first time, an index of the training text is built; it takes 1.5 bytes of disk space per byte of text.
    """
    workspace = context.obj.workspace
    return perform(context, lambda stop: look_up(workspace, name, text, stop), writes=False)[1]
