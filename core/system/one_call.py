"""One call of a function in a process of its own, which can be ended at any moment: many a library's call cannot."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from core.control import StopToken
from core.system.process import start_ignoring_interrupts

POLL_SECONDS = 0.1


class CallEndedError(Exception):
    """The process ended without an answer. `how` is a signal's name or an exit code, or "" where its time was over."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


def call_in_process(
    function: Callable[..., Any], *arguments: Any, stop: StopToken, most_seconds: float = float("inf")
) -> Any:
    """What the function returns there; None where `stop` was set before it did.

    Args:
        function, arguments: The process imports and unpickles them.
        most_seconds: After which the process is ended.

    Raises:
        CallEndedError: The process was ended, by the system where memory ran out, or because its time was over.
        Exception: Whatever the function raised.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy a window's threads and locks
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, arguments), daemon=True)
    start_ignoring_interrupts(process)
    theirs.close()  # so that this end is notified when the process ends
    until = time.monotonic() + most_seconds
    try:
        while not stop.asked:
            if ours.poll(POLL_SECONDS):
                return _value(ours.recv())
            if time.monotonic() > until:
                raise CallEndedError("")
    except EOFError as cause:
        process.join()
        raise CallEndedError(_exit_name(process.exitcode)) from cause
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()
    return None


def _value(answer: tuple[Any, BaseException | None]) -> Any:
    value, error = answer
    if error is not None:
        raise error
    return value


def _answer(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The process: one value, or the error that came in its place."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Windows: Ctrl+C is for the program, which ends this process
    warnings.simplefilter("ignore")  # nobody reads them here
    threading.Thread(target=_end_with_the_program, daemon=True).start()
    answer: tuple[Any, BaseException | None]
    try:
        answer = function(*arguments), None
    except BaseException as error:  # the outermost frame here, and some of a library's are no Exception
        error.add_note(traceback.format_exc())
        answer = None, _portable(error)
    connection.send(answer)


def _end_with_the_program() -> None:
    program = multiprocessing.parent_process()
    assert program is not None
    program.join()
    os._exit(1)


def _portable(error: BaseException) -> BaseException:
    """The error itself, or what it says where it cannot leave its process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does when it is packed or unpacked
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _exit_name(code: int | None) -> str:
    names = {-number.value: number.name for number in signal.Signals}
    return names.get(code or 0, f"exit code {code}")
