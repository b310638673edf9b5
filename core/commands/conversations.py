"""The commands on the conversations of the Chat tab: list, search, show, export, import, delete, rename and pin."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from core.commands.arguments import named_path, unicode_text
from core.commands.place import perform, print_rows, print_sentence
from core.conversations.exchange import export_markdown
from core.conversations.finding import Summary
from core.conversations.store import KEPT_DAYS
from core.tasks.chat.conversations import (
    delete_conversations,
    export_conversation,
    find_conversation,
    import_conversations,
    list_conversations,
    load_conversation,
    pin_conversation,
    rename_conversation,
    restore_conversations,
)
from core.terminal.output import print_text

app = typer.Typer(help="List, search, show, export and import the conversations of the Chat tab.")

COLUMNS = ("id", "title", "run", "messages", "pinned", "changed")
SHORT_ID = 8  # characters of an id in a table
EXPORTS = (".md", ".json")

ConversationId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Its id, as listed by `conversations list`, or the beginning of it."),
]


@app.callback(invoke_without_command=True)
def conversations(context: typer.Context) -> int:
    if context.invoked_subcommand is None:
        return list_command(context)
    return 0


@app.command(name="list")
def list_command(
    context: typer.Context,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Deleted ones that can still be restored.")
    ] = False,
) -> int:
    """List the conversations, pinned ones first, then the newest."""
    found, code = _ask(context, list_conversations, "", deleted=deleted, writes=False)
    _print(context, found, COLUMNS)
    return code


@app.command()
def search(
    context: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="Words that must all occur in one message.")
    ],
) -> int:
    """Search conversations by their messages and titles."""
    query = unicode_text(" ".join(words))
    found, code = _ask(context, list_conversations, query, writes=False)
    _print(context, found, ("id", "title", "excerpt"))
    return code


@app.command()
def show(context: typer.Context, id_: ConversationId) -> int:
    """Print the current branch of a conversation as Markdown."""
    conversation, code = _ask(context, load_conversation, _find(context, id_), writes=False)
    if context.obj.as_json:
        said = [asdict(message) | {"tokens": len(message.tokens)} for message in conversation.branch()]
        print_rows(context, "message", (), said)
    else:
        print_text(export_markdown(conversation), end="")
    return code


@app.command()
def export(
    context: typer.Context,
    id_: ConversationId,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="FILE.md for the current branch, FILE.json for all branches.",
            parser=named_path,
        ),
    ],
) -> int:
    """Export a conversation to a file, as Markdown or JSON."""
    if file.suffix.lower() not in EXPORTS:
        raise typer.BadParameter("it must end in .md or .json", param_hint="FILE")
    path, code = _ask(context, export_conversation, _find(context, id_), file, writes=False)
    print_sentence(context, f"Written to {path}.")
    return code


@app.command(name="import")
def import_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An exported JSON file.", parser=named_path)],
) -> int:
    """Import the conversations of an exported JSON file."""
    added, code = _ask(context, import_conversations, file)
    found, _ = _ask(context, list_conversations, "", writes=False)
    _print(context, [one for one in found if one.id in added], COLUMNS)
    return code


@app.command()
def delete(context: typer.Context, id_: ConversationId) -> int:
    """Delete a conversation; it can be restored for 30 days."""
    (gone,), code = _ask(context, delete_conversations, [_find(context, id_)])
    print_sentence(
        context,
        f"Conversation {gone[:SHORT_ID]} deleted; `conversations restore {gone[:SHORT_ID]}` brings it back "
        f"for {KEPT_DAYS} days.",
    )
    return code


@app.command()
def restore(context: typer.Context, id_: ConversationId) -> int:
    """Restore a deleted conversation."""
    (back,), code = _ask(context, restore_conversations, [_find(context, id_, deleted=True)])
    print_sentence(context, f"Conversation {back[:SHORT_ID]} restored.")
    return code


@app.command()
def rename(
    context: typer.Context,
    id_: ConversationId,
    title: Annotated[str, typer.Argument(help='The new title; "" names it after its first message again.')],
) -> int:
    """Rename a conversation."""
    return _change(context, id_, rename_conversation, unicode_text(title))


@app.command()
def pin(context: typer.Context, id_: ConversationId) -> int:
    """Pin a conversation to the top of the list."""
    return _change(context, id_, pin_conversation, True)


@app.command()
def unpin(context: typer.Context, id_: ConversationId) -> int:
    """Unpin a conversation."""
    return _change(context, id_, pin_conversation, False)


def _change(context: typer.Context, prefix: str, task: Any, value: Any) -> int:
    changed, code = _ask(context, task, _find(context, prefix), value)
    found, _ = _ask(context, list_conversations, "", writes=False)
    _print(context, [one for one in found if one.id == changed], COLUMNS)
    return code


def _find(context: typer.Context, prefix: str, deleted: bool = False) -> str:
    return str(_ask(context, find_conversation, prefix, deleted=deleted, writes=False)[0])


def _ask(
    context: typer.Context, task: Any, *values: Any, writes: bool = True, **options: Any
) -> tuple[Any, int]:
    """What a task of the conversations answers, and the exit code."""
    workspace = context.obj.workspace
    return perform(context, lambda stop: task(workspace, *values, stop, **options), writes)


def _print(context: typer.Context, found: Sequence[Summary], columns: Sequence[str]) -> None:
    rows = [asdict(one) | {"changed": one.updated_at} for one in found]
    if not context.obj.as_json:
        rows = [row | {"id": row["id"][:SHORT_ID], "pinned": "yes" if row["pinned"] else ""} for row in rows]
    print_rows(context, "conversation", columns, rows)
