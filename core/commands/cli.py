"""The command line: arguments → config → task → lines on the terminal, and an exit code.

0 done, 1 a failure reported in a sentence, 2 wrong usage, 130 stopped by Ctrl+C or SIGTERM. torch loads only with the commands
that compute, Qt with none.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import platformdirs
import typer

from core.commands import (
    bench,
    conversations,
    documents,
    inspection,
    keep,
    plan,
    queue,
    report,
    samplers,
    score,
    seen,
    serve,
    tokenizer,
    training,
)
from core.commands.arguments import home_path, named, unicode_text
from core.commands.compare import ALL, generate_several
from core.commands.password import refuse_typed_password
from core.commands.place import Place, perform, print_rows
from core.config.sampling import SamplingConfig
from core.config.setting import Setting, describe
from core.config.toml import checked, setting_groups
from core.control import StopToken
from core.errors.base import UserFacingError
from core.errors.system import absolute_path, output_error, system_error
from core.events.base import Task
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.runs.samplers import KEPT, read_samplers
from core.system.signals import INTERRUPTED
from core.tasks.chat.evaluate_sample import evaluate_sample
from core.tasks.chat.reply import complete, reply, samples
from core.tasks.models.open_model import OpenModel, open_model
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
app.add_typer(plan.app)
app.add_typer(queue.app)
app.add_typer(keep.app)
app.add_typer(tokenizer.app)
app.add_typer(inspection.app)
app.add_typer(score.app)
app.add_typer(seen.app)
app.add_typer(report.app)
app.add_typer(conversations.app, name="conversations")
app.add_typer(samplers.app, name="samplers")
app.add_typer(serve.app)
app.add_typer(bench.app, name="bench")
app.add_typer(bench.fuzz_app)

log = logging.getLogger(__name__)

MOST_SAMPLES = 10_000  # of one prompt at once

SAMPLING_HELP = {setting.name: setting.help for setting in describe(SamplingConfig)}


def run(arguments: Sequence[str], open_window: Callable[[Workspace], int]) -> int:
    """Run one command and give its exit code.

    Args:
        arguments: What follows the program's name.
        open_window: Shows the window on a workspace, for when no command is given.
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

    Args:
        command: The group of all commands, as click has it.
    """
    front: list[str] = []
    rest: list[str] = []
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
) -> int:
    """Choose where to work; without a command, open the window there."""
    root = workspace or Path(platformdirs.user_data_dir("SheepOp Studio", False))
    open_window: Callable[[Workspace], int] = context.obj
    context.obj = Place(Workspace(absolute_path(root)), json, open_window)
    return open_window(context.obj.workspace) if context.invoked_subcommand is None else 0


@app.command()
def generate(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The run's name.")],
    prompt: Annotated[
        str, typer.Option(help="The text to continue, or the message to answer.", callback=unicode_text)
    ] = "",
    max_new_tokens: Annotated[int | None, typer.Option(help=SAMPLING_HELP["max_new_tokens"])] = None,
    temperature: Annotated[float | None, typer.Option(help=SAMPLING_HELP["temperature"])] = None,
    top_k: Annotated[int | None, typer.Option(help=SAMPLING_HELP["top_k"])] = None,
    top_p: Annotated[float | None, typer.Option(help=SAMPLING_HELP["top_p"])] = None,
    min_p: Annotated[float | None, typer.Option(help=SAMPLING_HELP["min_p"])] = None,
    repetition_penalty: Annotated[
        float | None, typer.Option(help=SAMPLING_HELP["repetition_penalty"])
    ] = None,
    repetition_window: Annotated[int | None, typer.Option(help=SAMPLING_HELP["repetition_window"])] = None,
    seed: Annotated[int | None, typer.Option(help=SAMPLING_HELP["seed"])] = None,
    stop_text: Annotated[list[str] | None, typer.Option("--stop", help=SAMPLING_HELP["stop"])] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="Greedy decoding: temperature 0.")] = False,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--complete", help="Chat or text completion; by default what the run was trained for."
        ),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="Named sampling settings, as listed by `samplers`; other options override them.",
            callback=named,
        ),
    ] = None,
    checkpoint: Annotated[
        str,
        typer.Option(
            help="The checkpoint: best, last or a step number; all: every checkpoint, with the same seed."
        ),
    ] = "best",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[@CHECKPOINT]",
            help="A second model for the same prompt and seed: another run, or @STEP for another step of this run.",
            callback=named,
        ),
    ] = None,
    weights: Annotated[str | None, typer.Option(help=SAMPLING_HELP["weights"])] = None,
    count: Annotated[
        int,
        typer.Option(
            "--samples",
            min=1,
            max=MOST_SAMPLES,
            help="How many replies to generate at once; with a seed, each reply uses the next one.",
        ),
    ] = 1,
) -> int:
    """Generate text with a run's model."""
    workspace: Workspace = context.obj.workspace
    given: dict[str, Any] = {
        "max_new_tokens": max_new_tokens,
        "temperature": 0.0 if greedy else temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "repetition_penalty": repetition_penalty,
        "repetition_window": repetition_window,
        "seed": seed,
        "stop": tuple(stop_text) if stop_text else None,
        "weights": weights,
    }
    changes = _named_settings(workspace, sampler) if sampler else {}
    changes |= {key: value for key, value in given.items() if value is not None}
    asked = checked(
        SamplingConfig, changes
    )  # before the model is opened: a wrong number should not cost a wait
    if against is not None or checkpoint == ALL:
        if count > 1:
            raise typer.BadParameter("only one reply of each model can be compared", param_hint="--samples")
        return generate_several(context, name, checkpoint, against, prompt, changes, chat)
    model, code = perform(
        context,
        lambda stop: open_model(workspace, name, checkpoint, stop, asked.weights if weights else None),
        writes=False,
    )
    if code:
        return code
    sampling = checked(SamplingConfig, model.sampling.model_dump() | changes)
    answers = model.has_conversations if chat is None else chat
    return perform(
        context, lambda stop: _written(model, prompt, sampling, count, stop, answers=answers), writes=False
    )[1]


@app.command()
def runs(context: typer.Context) -> int:
    """List the runs, the most recently changed first."""
    context.obj.workspace.look()
    rows = [asdict(run) for run in Catalog(context.obj.workspace).runs()]
    columns = (
        "name",
        "preset",
        "step",
        "max_steps",
        "train_loss",
        "val_loss",
        "parameters",
        "bytes",
        "changed",
    )
    print_rows(context, "run", columns, rows)
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


def _named_settings(workspace: Workspace, name: str) -> dict[str, Any]:
    """The settings that a name stands for in this workspace."""
    sampling = read_samplers(workspace.samplers).named(name).sampling
    return {key: getattr(sampling, key) for key in KEPT}


def _written(
    model: OpenModel, prompt: str, sampling: SamplingConfig, count: int, stop: StopToken, *, answers: bool
) -> Task[object]:
    if count > 1:
        return samples(model, prompt, sampling, count, stop, answers=answers)
    if answers:
        return reply(model, [("user", prompt)], sampling, stop)
    return complete(model, prompt, sampling, stop)


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
