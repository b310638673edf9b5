"""The command line: arguments → config → task → lines on the terminal, and an exit code.

0 done, 1 a failure reported in a sentence, 2 wrong usage, 130 stopped by Ctrl+C or SIGTERM. torch loads only with the commands
that compute, Qt with none.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from core.commands import (
    bench,
    compare,
    conversations,
    datasets,
    documents,
    export,
    generate,
    inspection,
    keep,
    plan,
    queue,
    report,
    runs,
    samplers,
    score,
    seen,
    selftest,
    serve,
    tokenizer,
    training,
)
from core.commands.arguments import home_path, named_path
from core.commands.password import refuse_typed_password
from core.commands.place import CommandPlace, perform, print_rows
from core.config.setting import Setting, describe
from core.config.toml import setting_groups
from core.errors.base import UserFacingError
from core.errors.system import absolute_path, output_error, system_error
from core.runs.folder import SHEEP, Workspace, default_root
from core.system.signals import INTERRUPTED
from core.tasks.chat.evaluate_sample import evaluate_sample
from core.terminal.output import TerminalFormatter
from core.terminal.screen import print_failure

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    help="From your own documents to your own language model. Without a command, the window opens.",
    epilog="--workspace and --json can come before or after the command.",
)
app.add_typer(documents.app)
app.add_typer(training.app)
app.add_typer(runs.app, name="runs")
app.add_typer(runs.run_app)
app.add_typer(datasets.app, name="datasets")
app.add_typer(generate.app)
app.add_typer(plan.app)
app.add_typer(queue.app)
app.add_typer(keep.app)
app.add_typer(tokenizer.app)
app.add_typer(inspection.app)
app.add_typer(score.app)
app.add_typer(compare.app)
app.add_typer(seen.app)
app.add_typer(report.app)
app.add_typer(export.app)
app.add_typer(conversations.app, name="conversations")
app.add_typer(samplers.app, name="samplers")
app.add_typer(serve.app)
app.add_typer(selftest.app)
app.add_typer(bench.app, name="bench")
app.add_typer(bench.fuzz_app)

log = logging.getLogger(__name__)

# Shows the window, for when no command is given: told a workspace, whether it was named, a folder for pictures of the
# tabs, after which it closes, or None to stay, and files to take in. Gives an exit code.
OpenWindow = Callable[[Workspace, bool, Path | None, Sequence[Path]], int]


def run(arguments: Sequence[str], open_window: OpenWindow) -> int:
    """Run one command and give its exit code.

    Args:
        arguments: What follows the program's name.
        open_window: Shows the window, for when no command is given.
    """
    if logging.lastResort:  # what writes to stderr where no log is kept
        logging.lastResort.setFormatter(TerminalFormatter())
    try:
        refuse_typed_password(arguments)
        command = typer.main.get_command(app)
        command(hoisted(arguments, command), obj=open_window)
    except UserFacingError as error:
        return _flushed(_report(error))
    except OSError as error:  # which nothing below could explain better
        log.info("the system refused something", exc_info=error)
        return _flushed(_report(system_error(error)))
    except SystemExit as end:  # how typer ends, after reporting what is wrong with the arguments
        return _flushed(int(end.code or 0))
    except KeyboardInterrupt:
        return _flushed(INTERRUPTED)
    raise AssertionError("typer came back without an exit code")


def _report(error: UserFacingError) -> int:
    print_failure(error)
    return error.exit_code


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _close_output()
    except OSError as error:  # a file on a full disk
        _close_output()
        return code or _report(output_error(error))
    return code


def _close_output() -> None:
    """Let what is still to be printed go nowhere, or the interpreter's end would try once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def hoisted(arguments: Sequence[str], command: Any) -> list[str]:
    """The same arguments with --workspace and --json in front, so that they can stand anywhere but as another's value.

    A `.sheep` file in the place of a command is one to open.

    Args:
        command: The group of all commands, as click has it.
    """
    front: list[str] = []
    rest: list[str] = []
    group = command
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--json" or argument.startswith("--workspace="):
            front.append(argument)
        elif argument == "--workspace":
            value = next(waiting, None)
            if value is None:
                return [argument]  # alone, or typer would take the command for the value
            front += [argument, value]
        elif argument == "--":
            rest += [argument, *waiting]
        elif command is group and argument.lower().endswith(SHEEP) and not argument.startswith("-"):
            front += ["--open", argument]
        elif _has_value(argument, command):
            rest += [argument, *islice(waiting, 1)]
        else:
            rest.append(argument)
            command = getattr(command, "commands", {}).get(argument, command)
    return front + rest


def _has_value(argument: str, command: Any) -> bool:
    """True for an option of this command that the next argument belongs to."""
    options = (one for one in command.params if one.param_type_name == "option")
    return any(argument in one.opts and not one.is_flag for one in options)


def end(code: int, **options: object) -> None:
    """End with the exit code that a command returned."""
    del options  # those of `place`, which every command has had already
    raise typer.Exit(code)


@app.callback(invoke_without_command=True, result_callback=end)
def place(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Option(
            help="The folder with the library, data sets and runs.",
            envvar="SHEEPOP_WORKSPACE",
            parser=home_path,
            metavar="DIR",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    screenshots: Annotated[
        Path | None,
        typer.Option(
            help="Show each tab of the window, keep pictures of them in this folder, and close.",
            parser=named_path,
            metavar="DIR",
        ),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--open",
            help="A model in a .sheep file, which the window takes in; --open can be left out.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
) -> int:
    """Choose where to work; without a command, open the window there."""
    root = workspace or default_root()
    open_window: OpenWindow = context.obj
    here = context.obj = CommandPlace(Workspace(absolute_path(root)), json)
    if context.invoked_subcommand is None:
        pictures, files = (
            screenshots and absolute_path(screenshots),
            [absolute_path(path) for path in models or ()],
        )
        return open_window(here.workspace, workspace is not None, pictures, files)
    if screenshots or models:
        hint = "--screenshots" if screenshots else "--open"
        raise typer.BadParameter("before a command there is no window to show", param_hint=hint)
    return 0


@app.command(name="evaluate-sample")
def evaluate_sample_command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The run's name.")],
    checkpoint: Annotated[str, typer.Option(help="The checkpoint: best, last or a step number.")] = "best",
) -> int:
    """Evaluate a run on the held-out questions of the sample corpus."""
    workspace: Workspace = context.obj.workspace
    return perform(context, lambda stop: evaluate_sample(workspace, name, checkpoint, stop), writes=False)[1]


@app.command()
def settings(context: typer.Context) -> int:
    """List every setting of a run, with its default and limits."""
    rows = [
        {
            "name": f"{group}.{setting.name}",
            "default": setting.default if context.obj.as_json else _default(setting),
            "limits": _limits(setting),
            "help": setting.help,
        }
        for group, model in setting_groups().items()
        for setting in describe(model)
    ]
    print_rows(context, "setting", ("name", "default", "limits", "help"), rows)
    return 0


def _default(setting: Setting) -> Any:
    return setting.default if setting.default not in (None, "") else setting.empty


def _limits(setting: Setting) -> str:
    if setting.choices:
        return " | ".join(setting.choices)
    number = "{:,.0f}" if setting.kind == "whole" else "{:g}"
    marks = "≥" if setting.minimum_allowed else ">", "≤" if setting.maximum_allowed else "<"
    limits = [
        f"{mark} {number.format(limit)}"
        for mark, limit in zip(marks, (setting.minimum, setting.maximum), strict=True)
        if limit is not None
    ]
    return f"{', '.join(limits)} {setting.unit}".strip()
