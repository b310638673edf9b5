"""The commands on data sets: list them, and delete those that no run needs."""

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from core.commands.place import perform, print_rows
from core.datasets.listing import dataset_rows, remove_datasets

app = typer.Typer(help="List the data sets, and delete those that no run needs.")

COLUMNS = ("name", "documents", "characters", "tokens", "bytes", "used", "runs")


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> int:
    if context.invoked_subcommand is None:
        return list_command(context)
    return 0


@app.command(name="list")
def list_command(context: typer.Context) -> int:
    """List the data sets with the runs that need each; those that none needs come first."""
    context.obj.workspace.look()
    rows = [asdict(row) for row in dataset_rows(context.obj.workspace)]
    print_rows(context, "dataset", COLUMNS, rows)
    return 0


@app.command()
def remove(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of data sets; by default all that no run needs."),
    ] = None,
) -> int:
    """Delete data sets that no run needs; a later run builds them again."""
    return perform(context, partial(remove_datasets, context.obj.workspace, names or ()))[1]
