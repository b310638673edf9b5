"""The command that writes a run's report."""

from pathlib import Path
from typing import Annotated

import typer

from core.commands.arguments import RunName, named_path
from core.commands.place import perform
from core.errors.system import absolute_path
from core.tasks.models.write_report import report_name, write_report

app = typer.Typer()


@app.command()
def report(
    context: typer.Context,
    name: RunName,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write; by default NAME-report.html in the current folder.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
) -> int:
    """Write a report on a run as one HTML file: its data, settings, curves, samples and figures."""
    workspace = context.obj.workspace
    path = absolute_path(out or Path(report_name(name)))
    return perform(context, lambda stop: write_report(workspace, name, path, stop), writes=False)[1]
