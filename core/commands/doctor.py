"""The command that says what this machine can do."""

from dataclasses import asdict

import typer

from core.commands.place import print_rows

app = typer.Typer()


@app.command()
def doctor(context: typer.Context) -> int:
    """Say what this machine can do, what the program therefore chooses, and what is missing and how to install it."""
    from core.tasks.installation.capabilities import capabilities

    rows = [asdict(one) for one in capabilities(context.obj.workspace)]
    print_rows(context, "capability", ("what", "found", "therefore"), rows)
    return 0
