"""The command that says what a run comes to, without training it."""

from dataclasses import asdict

import typer

from core.commands.arguments import (
    Assignments,
    BaseCheckpoint,
    PresetName,
    RunFile,
    run_settings,
)
from core.commands.place import perform, print_rows
from core.tasks.training.plan_run import plan_run

app = typer.Typer()


@app.command()
def plan(
    context: typer.Context,
    run_file: RunFile = None,
    preset: PresetName = None,
    base: BaseCheckpoint = None,
    set_: Assignments = None,
) -> int:
    """Estimate a run without training it: parameters, epochs, memory, disk space and time, and what may go wrong."""
    workspace = context.obj.workspace
    run = run_settings(context, run_file, preset, base, set_)
    planned, code = perform(context, lambda stop: plan_run(workspace, run, stop), writes=False)
    print_rows(context, "plan_row", ("title", "value"), [asdict(row) for row in planned.rows])
    warnings = [{"warning": warning.message, "remedy": warning.remedy} for warning in planned.warnings]
    if warnings:
        print_rows(context, "plan_warning", ("warning", "remedy"), warnings)
    return code
