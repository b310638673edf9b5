"""The program's door: without a command the window, with one the command line, which never loads Qt."""

import sys

from core.system.signals import exit_on_signals, ignore_signals, unwind_on_signals

READER = "--multiprocessing-fork"  # the first argument of a worker process of a frozen application

if __name__ == "__main__" and sys.argv[1:2] != [READER]:  # before anything that takes a moment to import
    exit_on_signals()

from typing import TYPE_CHECKING  # noqa: E402  # only now

from core.system.process import prepare_process  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

    from core.runs.folder import Workspace


def main() -> int:
    """Run the program and give its exit code: 0 done, 1 a failure reported in a sentence, 2 wrong usage."""
    prepare_process()
    splash = None
    if asks_for_window(sys.argv[1:]):
        from app.splash import show_splash

        splash = show_splash()  # kept until the window stands: what comes now takes a second or two
    from core.commands import cli

    try:
        unwind_on_signals()
        return cli.run(sys.argv[1:], open_window)
    finally:
        ignore_signals()
        del splash


def asks_for_window(arguments: list[str]) -> bool:
    """Whether there is no command: nothing, or where to work."""
    rest = [argument for argument in arguments if not argument.startswith("--workspace=")]
    return not rest or (len(rest) == 2 and rest[0] == "--workspace")


def open_window(workspace: "Workspace", named: bool, screenshots: "Path | None") -> int:
    """Show the window on a workspace until it is closed, or on the last one where none was `named`.

    With a folder for `screenshots` it shows each tab, leaves a picture of it there, and closes.
    """
    exit_on_signals()  # until the window has its own answer, and nothing that Qt calls can be left by an exception
    from app.application import run

    return run(workspace, named, screenshots)


if __name__ == "__main__":
    sys.exit(main())
