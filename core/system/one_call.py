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
from core.system.process import ended_at_last, exit_name, start_with_pipe

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
    process, pipe = start_with_pipe(_answer, function, arguments)
    until = time.monotonic() + most_seconds
    with ended_at_last(process, pipe):
        try:
            while not stop.asked:
                if pipe.poll(POLL_SECONDS):
                    return _value(pipe.recv())
                if time.monotonic() > until:
                    raise CallEndedError("")
        except (EOFError, ConnectionError) as cause:
            process.join()
            raise CallEndedError(exit_name(process.exitcode)) from cause
    return None


def _value(answer: tuple[Any, BaseException | None]) -> Any:
    value, error = answer
    if error is not None:
        raise error
    return value


def _answer(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The process: one value, or the error that came in its place."""
    # Windows: Ctrl+C is for the program, which ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
