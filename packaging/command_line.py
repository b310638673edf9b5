"""Make the reference of the command line, docs/command-line.md, and a page for `man` from the program's own help.

    python packaging/command_line.py

What stands above the mark in that page is written by hand and stays. `tests/test_documents.py` fails where the rest is
no longer what this makes of the program.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import typer  # noqa: E402

from core.commands import cli  # noqa: E402

PAGE = ROOT / "docs" / "command-line.md"
MARK = "<!-- Below here the page is made by packaging/command_line.py. -->\n"
VALUES = {int: "N", float: "X", Path: "PATH"}  # any other is TEXT


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as it must be: what stands above the mark, and the program's help."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    commands = [part for name, command in _commands() for part in _command(name, command)]
    return "\n".join([f"{head}{MARK}", "## All commands\n", *_contents(), "", *commands]).rstrip() + "\n"


def manual(name: str, summary: str, date: str) -> str:
    """The same as a page in roff, for `man`.

    Args:
        name: What one types.
        date: As in 2026-12-31.
    """
    lines = [f".TH {name.upper()} 1 {date}", ".SH NAME", rf"{name} \- {_roff(summary)}", ".SH SYNOPSIS"]
    lines += [f".B {name}", "[options] [COMMAND [arguments] [options]]", ".SH OPTIONS"]
    lines += _roff_params(typer.main.get_command(cli.app))
    lines += [
        ".PP",
        "Without a command, the window opens. Options can come before or after the command.",
        ".SH COMMANDS",
    ]
    for command_name, command in _commands():
        arguments = [
            _shown(param, command) for param in command.params if param.param_type_name == "argument"
        ]
        lines += [
            f".SS {_roff(' '.join([command_name, *arguments]))}",
            _roff(command.help),
            *_roff_params(command),
        ]
    return "\n".join(lines) + "\n"


def _roff_params(command: Any) -> Iterator[str]:
    for param in command.params:
        if param.help:
            yield from (
                ".TP",
                rf".B {_roff(_shown(param, command))}",
                _roff(param.help + _default(param)),
            )


def _roff(text: str) -> str:
    """A text on one line, as roff that shows it as it stands."""
    shown = " ".join(text.split()).replace("\\", r"\(rs").replace("-", r"\-")
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown


def _contents() -> Iterator[str]:
    yield "| command | what it does |"
    yield "| --- | --- |"
    for name, command in _commands():
        summary, _, _ = command.help.partition("\n\n")
        yield f"| [`{name}`](#{name.replace(' ', '-')}) | {_cell(summary)} |"


def _commands() -> Iterator[tuple[str, Any]]:
    """Each command with its name, those of a group behind the group."""
    group: Any = typer.main.get_command(cli.app)
    for name, command in group.commands.items():
        yield name, command
        for below, inner in getattr(command, "commands", {}).items():
            yield f"{name} {below}", inner


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [_shown(param, command) for param in command.params if param.param_type_name == "argument"]
    has_options = len(arguments) < len(command.params)
    rest = ["COMMAND"] if hasattr(command, "commands") else ["[options]"] if has_options else []
    yield f"## {name}\n\n{_cell(command.help)}\n"
    yield f"    {' '.join(['python main.py', name, *arguments, *rest])}\n"
    described = [param for param in command.params if param.help]
    if described:
        yield "| option | what it means |\n| --- | --- |"
        for param in described:
            yield f"| `{_cell(_shown(param, command))}` | {_cell(param.help)}{_default(param)} |"
        yield ""


def _shown(param: Any, command: Any) -> str:
    """How an argument or an option is written, with its value."""
    if param.param_type_name == "argument":
        shown: str = param.metavar or param.name.upper()
        return shown if param.required or shown.startswith("[") else f"[{shown}]"
    names = ", ".join([*param.opts, *param.secondary_opts])
    return names if param.is_flag else f"{names} {param.metavar or _value(command, param.name)}"


def _value(command: Any, name: str) -> str:
    """How the value of an option is written, by the type that the command's function gives it."""
    kinds = [get_type_hints(command.callback, include_extras=True)[name]]
    while kinds and get_origin(kinds[0]) is not Literal and get_args(kinds[0]):
        kinds = [kind for kind in get_args(kinds[0]) if kind is not type(None)]
    kind = kinds[0]
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else VALUES.get(kind, "TEXT")


def _default(param: Any) -> str:
    is_told = isinstance(param.default, str | int | float | Path) and not isinstance(param.default, bool)
    return f" Default: {param.default}." if is_told and str(param.default) not in ("", ".") else ""


def _cell(text: str) -> str:
    """A text on one line, as Markdown that shows it as it stands."""
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
