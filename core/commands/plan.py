"""The command that says what a run comes to, without training it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from core.commands.arguments import named, named_path, with_absolute_folder
from core.commands.place import perform, print_rows
from core.config.presets import DEFAULT_PRESET, PRESETS, preset_run
from core.config.toml import parse_assignments, read_run, with_settings
from core.tasks.plan_run import plan_run

app = typer.Typer()


@app.command()
def plan(
    context: typer.Context,
    run_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN.toml]", help="A file with the settings to start from.", parser=named_path
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help=f"The preset to start from: {', '.join(PRESETS)}.", callback=named)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting, such as training.max_steps=200; repeat for more."
        ),
    ] = None,
) -> int:
    """Show what a run would come to: parameters, epochs, memory, disk and time, and what may go wrong. Nothing is trained."""
    base = read_run(run_file, preset or "") if run_file else preset_run(preset or DEFAULT_PRESET)
    run = with_absolute_folder(with_settings(base, parse_assignments(set_ or [])))
    workspace = context.obj.workspace
    planned, code = perform(context, lambda stop: plan_run(workspace, run, stop), writes=False)
    print_rows(context, "plan_row", ("title", "value"), [asdict(row) for row in planned.rows])
    warnings = [{"warning": warning.message, "remedy": warning.remedy} for warning in planned.warnings]
    if warnings:
        print_rows(context, "plan_warning", ("warning", "remedy"), warnings)
    return code
