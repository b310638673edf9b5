"""Damages one file of a finished workspace, and checks that every command gives what it gave before, or a sentence.

What must be the same, whichever file is damaged: the tokens that each run's model writes, with their probabilities;
the losses of a run that goes on, and of a new one; what is listed. Four kinds of files are a person's or have no
checksum, and may change what they are about:

- `library.sqlite`: another letter in a text is another text. Documents, search and new runs may differ.
- `conversations.sqlite`: so for what was said. A damaged one is set aside, and what can be read taken over.
- `run.toml`: training and sampling settings are the user's to edit. How the run goes on may differ, and so may its
  line among the runs; what its model writes may not.
- `events.jsonl`: a journal of events. What is read of it may differ; nothing else may.

A run whose files are damaged is listed as far as it can be read: its line may lack or step back, and no other may. Any
other result is right only where a `Notice` that was not given before reports it.
"""

import faulthandler
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from core.bench.damage import copy_for_a_look, damage_file
from core.bench.tried_commands import (
    COMMANDS,
    NEW,
    STORY,
    TALK,
    Command,
    CommandAnswer,
    make_finished_workspace,
)
from core.control import Returning, StopToken
from core.errors.base import UserFacingError
from core.errors.bench import FuzzFailedError
from core.events.base import Notice, Task
from core.events.bench import FuzzFound, WorkspaceFuzzChecked
from core.runs.folder import Workspace
from core.system.memory import address_space

SLOW_SECONDS = 10.0  # for a command that takes a part of one
HANG_SECONDS = 100.0  # for a case; after these the process ends and says where it was
MEMORY_BYTES = 4 * 2**30  # beyond what the program has taken: a changed number can ask for any amount
REPORT_EVERY_SECONDS = 5.0
STDERR = 2

EQUAL, SENTENCE, NOTICED, MAY_DIFFER = "equal", "a sentence", "another with a notice", "another as it may"
RIGHT = (EQUAL, SENTENCE, NOTICED, MAY_DIFFER)


class CommandOutcome(NamedTuple):
    """What a command came to: an answer with notices, or a sentence, or, in `defect`, something else."""

    answer: CommandAnswer = None
    notices: frozenset[str] = frozenset()
    sentence: str = ""
    defect: str = ""


def fuzz_workspace(
    seconds: float, seed: int, first: int, kept: Path, stop: StopToken
) -> Task[WorkspaceFuzzChecked]:
    """Damage one file of a copy of a workspace and run all commands on it, again and again until the time is over.

    Args:
        seconds: How long; the case in hand is finished.
        seed: With the number of a case, it decides which file is damaged and how.
        first: The number of the first case.
        kept: A folder for copies of damaged files that led to a finding.

    Returns:
        How many cases there were, and how often the commands came to what. It is yielded now and then as well, and each
        finding when it is made.

    Raises:
        FuzzFailedError: There were findings. It comes after the last case.
    """
    ends: Counter[str] = Counter()
    findings: list[FuzzFound] = []
    number = first
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, _limited_memory():
        whole = make_finished_workspace(Path(folder) / "whole")
        expected = _run_all(whole, Path(folder) / "expected", stop)
        started = reported = time.monotonic()
        while time.monotonic() - started < seconds and not stop.asked:
            for finding in _case(whole, Path(folder) / "case", expected, number, seed, ends, stop):
                findings.append(finding)
                copy_for_a_look(Path(folder) / "case" / finding.file, kept / _kept_name(finding))
                yield finding
            number += 1
            if time.monotonic() - reported > REPORT_EVERY_SECONDS:
                reported = time.monotonic()
                yield _report(number - first, started, ends, findings)
    report = _report(number - first, started, ends, findings)
    yield report
    if findings:
        raise FuzzFailedError(
            kept / _kept_name(findings[0]), f"{findings[0].command}: {findings[0].reported}"
        )
    return report


def _kept_name(finding: FuzzFound) -> str:
    return f"{finding.seed}-{finding.case}-{Path(finding.file).name}"


def _report(
    cases: int, started: float, ends: Counter[str], findings: list[FuzzFound]
) -> WorkspaceFuzzChecked:
    seconds = time.monotonic() - started
    return WorkspaceFuzzChecked(cases, seconds, tuple(ends.most_common()), len(findings))


def _case(
    whole: Workspace,
    place: Path,
    expected: dict[str, CommandOutcome],
    number: int,
    seed: int,
    ends: Counter[str],
    stop: StopToken,
) -> Iterator[FuzzFound]:
    """Damage a copy at `place`, and judge what all commands make of it."""
    rng = random.Random(f"{seed} {number}")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole.root, place)
    files = sorted(path for path in place.rglob("*") if path.is_file())
    path, damage = files[0], ""
    while not damage:
        path = rng.choice(files)
        damage = damage_file(path, rng)
    file = path.relative_to(place).as_posix()
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True, file=STDERR)
    try:
        for name, command in COMMANDS.items():
            outcome = _outcome(command, Workspace(place), stop)
            if stop.asked:
                return  # what was cut short is not judged
            end = judge(file, name, expected[name], outcome)
            ends[end if end in RIGHT else "wrong"] += 1
            if end not in RIGHT:
                yield FuzzFound(number, seed, file, damage, name, end)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _run_all(whole: Workspace, place: Path, stop: StopToken) -> dict[str, CommandOutcome]:
    """What the commands come to on an undamaged copy."""
    copy = Workspace(shutil.copytree(whole.root, place))
    outcomes = {name: _outcome(command, copy, stop) for name, command in COMMANDS.items()}
    assert stop.asked or not any(outcome.sentence or outcome.defect for outcome in outcomes.values()), (
        outcomes
    )
    return outcomes


def _outcome(command: Command, workspace: Workspace, stop: StopToken) -> CommandOutcome:
    started, events = time.monotonic(), Returning(command(workspace, stop))
    try:
        notices = frozenset(event.text for event in events if isinstance(event, Notice))
        outcome = CommandOutcome(events.result, notices)
    except UserFacingError as error:
        outcome = CommandOutcome(sentence=error.message or type(error).__name__)
    except Exception as error:  # the frame that looks for defects: it must learn of each
        where = traceback.extract_tb(error.__traceback__)[-1]
        reported = f"{type(error).__name__}: {error}"[:200]
        outcome = CommandOutcome(defect=f"{reported} ({Path(where.filename).name}, line {where.lineno})")
    seconds = time.monotonic() - started
    if seconds > SLOW_SECONDS:
        return CommandOutcome(defect=f"it took {seconds:.0f} s")
    return outcome


# What is right


def judge(file: str, command: str, expected: CommandOutcome, outcome: CommandOutcome) -> str:
    """EQUAL, SENTENCE, NOTICED or MAY_DIFFER where a command came to what it should, else what is wrong.

    Args:
        file: The path of the damaged file within the workspace.
        command: A name in `COMMANDS`.
    """
    if outcome.defect:
        return outcome.defect
    if outcome.sentence:
        return SENTENCE
    if outcome.answer == expected.answer:
        return EQUAL
    if outcome.notices - expected.notices:
        return NOTICED
    if _may_differ(file, command) or (command == "runs" and _listed(file, expected.answer, outcome.answer)):
        return MAY_DIFFER
    return f"another answer than before, and no word of it: {_difference(expected.answer, outcome.answer)}"


def _may_differ(file: str, command: str) -> bool:
    run = _run_of(file)
    if file.startswith("library.sqlite"):
        return command in ("documents", "search", f"train {NEW}")
    if file.startswith("conversations.sqlite"):
        return command == "conversations"
    if file.endswith("/run.toml"):
        return command == f"resume {run}"
    return file.endswith("/events.jsonl") and command == "events"


def _run_of(file: str) -> str:
    return next((name for name in (STORY, TALK) if file.startswith(f"runs/{name}/")), "")


def _listed(file: str, expected: dict[str, Any], rows: dict[str, Any]) -> bool:
    """True where the damaged run is in the list, and the other ones are in it as they were."""
    run = _run_of(file)
    others = {name: row for name, row in expected.items() if name != run}
    return run in rows and {name: row for name, row in rows.items() if name != run} == others


def _difference(expected: CommandAnswer, answer: CommandAnswer) -> str:
    if isinstance(expected, list) and isinstance(answer, list):
        pairs = zip(expected, answer, strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), (len(expected), len(answer)))
        return f"{first[1]} for {first[0]}"[:200]
    return f"{answer} for {expected}"[:200]


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let the process take so much on top of what it has, where the system can say what that is."""
    taken = address_space()
    if taken is None:
        yield
        return
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
