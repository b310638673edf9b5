"""The request "follow a run": what a run tells that trains elsewhere, from its folder or over ssh, as if it were here."""

import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from core.control import StopToken
from core.errors.base import MissingPathError
from core.errors.runs import UnreachableRunError
from core.events.base import Task
from core.events.runs import RunEnded
from core.runs.folder import RunFolder
from core.runs.journal import parse_line

POLL_SECONDS = 0.5
ENDS = ("finished", "early_stopped")  # one that was stopped can go on
REMOTE = re.compile(r"(?P<host>[^/:]+):(?P<path>.+)")  # as scp and rsync write it


def follow_run(place: str, stop: StopToken) -> Task[None]:
    """The events of a run's journal, and those that come, until the run has ended.

    Args:
        place: The run's folder, or HOST:FOLDER, which the system's own `ssh` reads.

    Raises:
        MissingPathError: There is no such folder.
        UnreachableRunError: `ssh` is not there, or says why it cannot read it.
    """
    remote = REMOTE.fullmatch(place)
    lines = _of_host(remote, stop) if remote and not Path(place).exists() else _of_folder(Path(place), stop)
    for line in lines:
        event = parse_line(line)
        if event is not None:
            yield event
        if isinstance(event, RunEnded) and event.reason in ENDS:
            return


def _of_folder(folder: Path, stop: StopToken) -> Iterator[bytes]:
    """Whole lines, as they come. A journal that becomes shorter was rewound: its new end is read on from."""
    if not folder.is_dir():
        raise MissingPathError(folder)
    journal, read, rest = RunFolder(folder).events, 0, b""
    while not stop.asked:
        size = journal.stat().st_size if journal.exists() else 0
        if size < read:
            read, rest = size, b""
        if size == read:
            time.sleep(POLL_SECONDS)
            continue
        with journal.open("rb") as file:
            file.seek(read)
            new = file.read(size - read)
        read += len(new)
        *whole, rest = (rest + new).split(b"\n")
        yield from (line + b"\n" for line in whole)


def _of_host(remote: re.Match[str], stop: StopToken) -> Iterator[bytes]:
    journal = RunFolder(Path(remote["path"])).events.as_posix()
    command = ["ssh", "-o", "BatchMode=yes", "--", remote["host"], f"tail -n +1 -F {shlex.quote(journal)}"]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as cause:
        raise UnreachableRunError(remote["host"], "ssh is not installed") from cause
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                if stop.asked:
                    return
                yield line
        finally:
            process.terminate()
        if process.wait() and not stop.asked:
            said = process.stderr.read().decode("utf-8", "replace").strip()
            raise UnreachableRunError(remote["host"], said.splitlines()[-1] if said else "ssh failed")
