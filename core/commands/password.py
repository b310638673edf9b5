"""Where the password of an import comes from: never from the command line, which every user of the machine can read."""

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import typer

from core.documents.folders import is_there
from core.errors.base import PasswordOnCommandLineError, PasswordUnaskedError

OPTION, VARIABLE = "--password", "SHEEPOP_PASSWORD"


def refuse_typed_password(arguments: Sequence[str]) -> None:
    """See that no password stands among the arguments. What is a file or folder is taken for one to import.

    Raises:
        PasswordOnCommandLineError: One does.
    """
    for argument, following in pairwise([*arguments, OPTION]):
        if argument == "--":
            return
        if argument.startswith(f"{OPTION}="):
            raise PasswordOnCommandLineError
        if argument == OPTION and not following.startswith("-") and not is_there(Path(following)):
            raise PasswordOnCommandLineError


def take_password(asked: bool) -> str:
    """The password in the environment, which no child process inherits then; else what is typed, unseen.

    Args:
        asked: Whether to ask where the environment has none.

    Returns:
        It; "" where there is none, and none is asked for.

    Raises:
        PasswordUnaskedError: There is no terminal to ask on.
    """
    password = os.environ.pop(VARIABLE, "")
    if password or not asked:
        return password
    if not sys.stdin.isatty():
        raise PasswordUnaskedError
    return str(typer.prompt("Password", hide_input=True, default="", show_default=False, err=True))
