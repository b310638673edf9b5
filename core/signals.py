"""What Ctrl+C (SIGINT) and SIGTERM do where no task is followed. Imports next to nothing, so that it can come first."""

import os
import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130  # the shell's own code for a command ended by Ctrl+C
ENDING = (signal.SIGINT, signal.SIGTERM)


def exit_on_signals() -> None:
    """Let either signal end the process at once and without a word; there is nothing to save or to close yet."""
    for number in ENDING:
        signal.signal(number, _exit_at_once)


def unwind_on_signals() -> None:
    """Let either signal end the process as `sys.exit` does: what is open gets closed."""
    for number in ENDING:
        signal.signal(number, _unwind)


def ignore_signals() -> None:
    """Let the process end with the exit code that it has already."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _exit_at_once(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    os._exit(INTERRUPTED)  # an exception would be printed, or swallowed, by whatever is being imported


def _unwind(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise SystemExit(INTERRUPTED)
