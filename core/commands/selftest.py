"""The command that says whether this installation works."""

from pathlib import Path
from typing import Annotated

import typer

from core.commands.arguments import named_path
from core.commands.place import perform
from core.errors.system import absolute_path

app = typer.Typer()


@app.command(name="selftest")
def selftest_command(
    context: typer.Context,
    screenshots: Annotated[
        Path | None,
        typer.Option(
            help="Keep pictures of the window's tabs in this folder.", parser=named_path, metavar="DIR"
        ),
    ] = None,
) -> int:
    """Try the whole program in a temporary workspace: import, OCR, training, chat, export, server and window."""
    from core.tasks.installation.selftest import selftest  # here, because it draws pictures

    folder = absolute_path(screenshots) if screenshots else None
    holds, code = perform(context, lambda stop: selftest(folder, stop), writes=False)
    return code or (0 if holds else 1)
