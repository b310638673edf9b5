"""The commands on runs: list them, look at one, rename, tag, describe, remove and restore them."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from core.commands.arguments import named
from core.commands.place import perform, print_rows
from core.config.tag import tag_key
from core.reporting.tables import changed_settings
from core.runs.catalog import Catalog
from core.runs.standing import STATE_TITLES
from core.tasks.models.look_at_run import RunPage, look_at_run
from core.terminal.output import print_text
from core.terminal.screen import print_record
from core.wording import counted, file_size, number

app = typer.Typer(help="List the runs; rename, tag, describe, remove and restore them.")
run_app = typer.Typer()

COLUMNS = (
    *("name", "preset", "state", "step", "max_steps", "parameters", "tokens", "val_loss", "bits_per_byte"),
    *("bytes", "changed"),
)
WHERE_ANY = ("tags", "problem")  # columns that are shown where a run has something in them

RunName = Annotated[str, typer.Argument(metavar="NAME", help="The run's name.", callback=named)]


@app.callback(invoke_without_command=True)
def runs(context: typer.Context) -> int:
    if context.invoked_subcommand is None:
        return list_command(context)
    return 0


@app.command(name="list")
def list_command(
    context: typer.Context,
    tag: Annotated[list[str] | None, typer.Option(help="Only this tag; repeat for more.")] = None,
) -> int:
    """List the runs, the most recently changed first."""
    context.obj.workspace.look()
    keys = {tag_key(one) for one in tag or ()}
    rows = [
        asdict(run)
        for run in Catalog(context.obj.workspace).runs()
        if not keys or keys & {tag_key(one) for one in run.tags}
    ]
    print_rows(
        context, "run", [*COLUMNS, *(name for name in WHERE_ANY if any(row[name] for row in rows))], rows
    )
    return 0


@run_app.command()
def run(context: typer.Context, name: RunName) -> int:
    """Show a run: what it is, the settings that differ from its preset, and its checkpoints."""
    page, code = perform(context, lambda stop: look_at_run(context.obj.workspace, name, stop), writes=False)
    if context.obj.as_json:
        print_record(_as_record(page))
    else:
        _print_page(context, page)
    return code


def _as_record(page: RunPage) -> dict[str, Any]:
    return {
        "event": "run",
        **asdict(page.record.summary),
        **asdict(page.notes),
        "settings": page.record.config.model_dump(mode="json") if page.record.config else None,
        "saved": [asdict(saved) for saved in page.saved],
        "problems": page.record.problems,
    }


def _print_page(context: typer.Context, page: RunPage) -> None:
    rows = [{"name": name, "value": value} for name, value in _facts(page) if value]
    print_rows(context, "fact", ("name", "value"), rows)
    changed = [
        {"setting": row.title, "value": row.value, "preset": row.preset_value}
        for row in changed_settings(page.settings)
    ]
    if changed:
        print_text("")
        print_rows(context, "setting", ("setting", "value", "preset"), changed)
    if page.saved:
        print_text("")
        print_rows(
            context,
            "saved",
            ("step", "kind", "names", "val_loss", "bytes", "saved"),
            [asdict(row) for row in page.saved],
        )


def _facts(page: RunPage) -> list[tuple[str, str]]:
    summary, dataset, notes = page.record.summary, page.record.dataset, page.notes
    steps = f"{summary.step:,} of {summary.max_steps:,}" if summary.max_steps else ""
    text = (
        f"{counted(dataset.documents, 'document')}, {counted(dataset.characters, 'character')}"
        if dataset
        else ""
    )
    base = page.record.config.base_model if page.record.config else ""
    return [
        ("name", summary.name),
        ("state", STATE_TITLES[summary.state]),
        ("preset", summary.preset),
        ("steps", steps),
        ("parameters", number(summary.parameters) if summary.parameters else ""),
        ("tokens", number(summary.tokens) if summary.tokens else ""),
        ("best loss", "" if summary.val_loss is None else f"{summary.val_loss:.4f} nats/token"),
        ("bits per byte", "" if summary.bits_per_byte is None else f"{summary.bits_per_byte:.4f}"),
        ("data set", " · ".join(part for part in (summary.dataset, text) if part)),
        ("fine-tuned from", base),
        ("size", file_size(summary.bytes)),
        ("tags", ", ".join(summary.tags)),
        ("note", notes.note),
        ("description", notes.description),
        ("licence", notes.licence),
        *(("problem", problem) for problem in dict.fromkeys((*page.record.problems, summary.problem))),
    ]
