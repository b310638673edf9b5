"""Merges learned in a process of their own, which can be ended at any moment: the library's trainer cannot.

The process reads the buffered texts itself, and gives back nothing but the vocabulary. It loads no torch.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from core.control import StopToken
from core.errors import LearningEndedError
from core.process import start_ignoring_interrupts
from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.text_buffer import read_texts

POLL_SECONDS = 0.1


class Vocabulary(NamedTuple):
    """What a `BpeTokenizer` is made of."""

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]


def train_in_process(buffer: Path, vocab_size: int, stop: StopToken) -> BpeTokenizer | None:
    """What `BpeTokenizer.train` makes of the texts in a buffer's file; None where `stop` was set before.

    Raises:
        LearningEndedError: The system ended the process, as it does where memory runs out.
        Exception: Whatever `BpeTokenizer.train` raised.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy a window's threads and locks
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(
        target=_train, args=(theirs, buffer, vocab_size), name="tokenizer trainer", daemon=True
    )
    start_ignoring_interrupts(process)
    theirs.close()  # so that this end is notified when the process ends
    try:
        while not stop.asked:
            if ours.poll(POLL_SECONDS):
                return _tokenizer(ours.recv())
    except EOFError as cause:
        process.join()
        raise LearningEndedError(_exit_name(process.exitcode)) from cause
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()
    return None


def _tokenizer(answer: Vocabulary | BaseException) -> BpeTokenizer:
    if isinstance(answer, BaseException):
        raise answer
    return BpeTokenizer(*answer)


def _train(connection: Connection, buffer: Path, vocab_size: int) -> None:
    """The process: one vocabulary, or the error that came in its place."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Windows: Ctrl+C is for the program, which ends this process
    warnings.simplefilter("ignore")  # nobody reads them here
    threading.Thread(target=_end_with_the_program, daemon=True).start()
    answer: Vocabulary | BaseException
    try:
        learned = BpeTokenizer.train(read_texts(buffer), vocab_size)
        answer = Vocabulary(learned.tokens, learned.merges)
    except BaseException as error:  # the outermost frame here, and some of the library's are no Exception
        error.add_note(traceback.format_exc())
        answer = _portable(error)
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
