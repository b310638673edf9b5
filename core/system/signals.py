"""What Ctrl+C (SIGINT), SIGTERM and the end of the terminal (SIGHUP) do where no task is followed.

Imports nothing that takes a moment, not even for annotations, so that it can come first.
"""

import os  # which the interpreter has imported already
import signal

INTERRUPTED = 130  # the shell's own code for a command ended by Ctrl+C
HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none


def _hangups() -> tuple[signal.Signals, ...]:
    """SIGHUP, unless whoever started the process had it ignored, as nohup does."""
    return () if HANGUP is None or signal.getsignal(HANGUP) == signal.SIG_IGN else (HANGUP,)


ENDING = (signal.SIGINT, signal.SIGTERM, *_hangups())


def leave_terminal(streams: list[int]) -> None:
    """Let what is written to these file descriptors go nowhere: the terminal behind them has closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)


def exit_on_signals() -> None:
    """Let either signal end the process at once and without a word; there is nothing to save or to close yet."""
    for number in ENDING:
        signal.signal(number, exit_at_once)


def unwind_on_signals() -> None:
    """Let either signal end the process as `sys.exit` does: what is open gets closed."""
    for number in ENDING:
        signal.signal(number, _unwind)


def ignore_signals() -> None:
    """Let the process end with the exit code that it has already."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def exit_at_once(number: int, frame: object) -> None:
    """A handler that ends the process without a word."""
    del number, frame
    os._exit(INTERRUPTED)  # an exception would be printed, or swallowed, by whatever is being imported


def _unwind(number: int, frame: object) -> None:
    del number, frame
    raise SystemExit(INTERRUPTED)
