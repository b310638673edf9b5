"""How a stream of events looks on a terminal: bars and lines for people, or one JSON object per line."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import PurePath
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from core.config.doctor import NOT_FINITE
from core.control import StopToken
from core.document_events import (
    ArchiveOpened,
    FileImported,
    FilesChanged,
    ImportFinished,
    ImportStarted,
    NearDuplicatesFound,
    PageRecognizing,
    TextIndexed,
)
from core.document_state import DocumentState
from core.errors import UserFacingError
from core.events import (
    ContextMoved,
    DatasetBuilt,
    DatasetProgress,
    Evaluated,
    Event,
    LearningProgress,
    ModelOpened,
    Notice,
    PromptRead,
    RemarkMade,
    ReplyEnded,
    ReportWritten,
    RunEnded,
    RunPrepared,
    SampleWritten,
    StepDone,
    TokenizerBuilt,
    TokenWritten,
)
from core.signals import ENDING, exit_at_once
from core.tasks.bench_events import FuzzChecked, FuzzFound, WorkspaceFuzzChecked
from core.tasks.bench_lines import benchmark_line
from core.tasks.compare_lines import compare_line
from core.tasks.evaluation_events import SampleEvaluated, ScoreProgress, TextScored
from core.tasks.evaluation_lines import evaluation_line
from core.tasks.seen_events import SeenFound, SeenLocated, SeenProgress
from core.tasks.seen_lines import found_line, located_lines
from core.tasks.serving_lines import serving_line
from core.wording import counted, file_size, noun_for, percent, printable

Result = TypeVar("Result")
Stream = Generator[Event, None, Result]
OpenStream = Callable[[StopToken], Stream[Result]]

NUMBERS = {
    *("id", "pages", "characters", "bytes", "count"),
    *("step", "max_steps", "train_loss", "val_loss", "parameters"),
    *("vocab_size", "bytes_per_token", "unknown_share", "train_tokens"),
}
STDERR, STOPPING = 2, b"stopping at the next safe point ...\n"
INDEXING, LEARNING, ENCODING = "Indexing texts", "Training the tokenizer", "Encoding text"
SCORING, SEARCHING = "Scoring bytes", "Indexing the training text"
LONGEST_LINE = 100_000  # characters, of a table that goes into a file or another program
WORTH_A_LINE = {
    DocumentState.WARNING,
    DocumentState.ENCRYPTED,
    DocumentState.FAILED,
}  # a folder can hold thousands of files of no known kind


def follow(open_stream: OpenStream[Result], as_json: bool) -> tuple[Result, bool]:
    """Run a task to its end, showing each event as it comes.

    Ctrl+C, or the system's polite request to end, asks the task to stop at its next safe point.

    Returns:
        The task's result, and whether it was asked to stop.
    """
    stop = StopToken()
    screen = JsonScreen() if as_json else Screen()
    with stopping_on_signals(stop), screen:
        stream = open_stream(stop)
        while True:
            try:
                event = next(stream)
            except StopIteration as end:
                return end.value, stop.asked
            screen.show(event)


def print_failure(error: UserFacingError) -> None:
    """What happened and what to do next, on stderr; bytes of a path that are no UTF-8 are spelled out."""
    said = f"error: {error.message}\n{error.remedy}"
    print(said.encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


def print_record(record: dict[str, object]) -> None:
    """One JSON object on a line of its own."""
    print(json.dumps(record), flush=True)


def print_table(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Rows under their columns' names; whole numbers with separators, times as dates. In a file, a row is a line."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        number = column in NUMBERS
        table.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=number)
    for row in rows:
        table.add_row(*(Text(_cell(column, row[column])) for column in columns))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = LONGEST_LINE
    console.print(table)


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return printable(", ".join(value))
    if column == "changed":
        return datetime.fromtimestamp(value).strftime("%Y-%m-%d %H:%M")
    if column in NUMBERS and not isinstance(value, str):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
    return printable(str(value))


@contextmanager
def stopping_on_signals(stop: StopToken) -> Iterator[None]:
    """Set `stop` at the first Ctrl+C; a second one ends the program at once, and without a word."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return

    def ask(number: int, frame: object) -> None:
        del frame
        stop.set()
        signal.signal(number, exit_at_once)
        with suppress(OSError):  # nobody may be left to read it
            os.write(STDERR, STOPPING)  # `print` fails where the signal came in the middle of another one

    before = {number: signal.signal(number, ask) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class JsonScreen:
    """One JSON object per event and line on stdout, and nothing else."""

    def __enter__(self) -> "JsonScreen":
        return self

    def __exit__(self, *trouble: object) -> None:
        return None

    def show(self, event: Event) -> None:
        print_record(event.as_record())


class Screen:
    """Lines and a progress bar for people. Off a terminal, the lines alone."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, soft_wrap=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._bar: TaskID | None = None
        self._bar_title = ""

    def __enter__(self) -> "Screen":
        return self

    def __exit__(self, *trouble: object) -> None:
        self._progress.stop()

    def show(self, event: Event) -> None:
        """Move the bar, write a line, or both."""
        match event:
            case ImportStarted() | ArchiveOpened() | PageRecognizing() | FileImported() | TextIndexed():
                self._show_reading(event)
            case LearningProgress() | DatasetProgress():
                title = LEARNING if isinstance(event, LearningProgress) else ENCODING
                if self._bar_title != title:
                    self._start_bar(title, event.characters_total)
                self._move_to(event.characters_done)
            case RunPrepared():
                self._end_bar()
                self._line(_prepared(event))
                self._start_bar("Training", event.max_steps, event.start_step)
            case StepDone():
                self._move_to(event.step, _step_figures(event))
            case ScoreProgress():
                if self._bar_title != SCORING:
                    self._start_bar(SCORING, event.bytes_total or None)
                self._move_to(event.bytes_done)
            case SeenProgress():
                if self._bar_title != SEARCHING:
                    self._start_bar(SEARCHING, event.bytes_total)
                self._move_to(event.bytes_done)
            case TokenWritten(sample=sample):
                if sample:
                    return  # of several replies at once each is shown when it is whole
                self._console.out(event.text, end="", highlight=False)
            case _:
                self._say(event)

    def _show_reading(self, event: Event) -> None:
        match event:
            case ImportStarted(files=files):
                self._start_bar("Reading", files)
            case ArchiveOpened():
                self._add_to_total(event.files)
            case PageRecognizing():
                self._advance(0, f"{PurePath(event.path).name}: page {event.page:,}")
            case FileImported():
                self._advance(1)
                if event.state in WORTH_A_LINE:
                    self._line(f"{event.state}: {event.path}: {event.reason}")
            case TextIndexed(done=done, total=total) if done < total:
                if self._bar_title != INDEXING:
                    self._start_bar(INDEXING, total)
                self._move_to(done)
            case _:
                self._end_bar()

    def _say(self, event: Event) -> None:
        line = _sentence(event)
        if isinstance(
            event, ImportFinished | DatasetBuilt | RunEnded | SampleEvaluated | TextScored | SeenFound
        ):
            self._end_bar()
        if line:
            self._line(line)

    def _line(self, text: str) -> None:
        self._console.print(Text(text))  # a Text, so that nobody's file name is read as markup

    def _start_bar(self, title: str, total: int | None, done: int = 0) -> None:
        self._end_bar()
        self._progress.start()
        self._bar = self._progress.add_task(title, total=total, completed=done, figures="")
        self._bar_title = title

    def _add_to_total(self, count: int) -> None:
        for task in self._progress.tasks:
            self._progress.update(task.id, total=(task.total or 0) + count)

    def _advance(self, count: int, figures: str = "") -> None:
        if self._bar is not None:
            self._progress.update(self._bar, advance=count, figures=figures)

    def _move_to(self, done: int, figures: str = "") -> None:
        if self._bar is not None:
            self._progress.update(self._bar, completed=done, figures=figures)

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._progress.remove_task(self._bar)
            self._bar, self._bar_title = None, ""
        self._progress.stop()


def _prepared(event: RunPrepared) -> str:
    begins = f"resumes after step {event.start_step:,}" if event.start_step else "starts"
    return (
        f"Run {event.name!r} {begins}: {counted(event.parameters, 'parameter')}, "
        f"vocabulary {counted(event.vocab_size, 'token')}, "
        f"{counted(event.max_steps, 'step')} of {counted(event.tokens_per_step, 'token')}, {event.device}, {event.precision}."
    )


def _step_figures(event: StepDone) -> str:
    return (
        f"loss {event.loss:.3f} nats/token, lr {event.learning_rate:.1e}, {event.seconds * 1000:.0f} ms/step, "
        f"{event.tokens_per_second:,.0f} tokens/s, epoch {event.epoch:.2f}"
    )


def _sentence(event: Event) -> str:
    """An event as a line; empty for those that have none."""
    match event:
        case Notice():
            return event.text
        case ImportFinished():
            return (
                f"{event.done:,} read, {counted(event.duplicates, 'duplicate')}, {event.unsupported:,} not supported, "
                f"{event.failed:,} failed, {event.cancelled:,} cancelled, in {event.seconds:.1f} s."
            )
        case NearDuplicatesFound(documents=documents) if documents:
            verb = noun_for(documents, "repeats", "repeat")
            return (
                f"{counted(documents, 'document')} nearly {verb} another; see `documents --near-duplicates`."
            )
        case FilesChanged():
            return f"{counted(len(event.paths), 'new or changed file')}."
        case TokenizerBuilt():
            return f"Tokenizer {event.kind}: {counted(event.vocab_size, 'token')}, in {event.seconds:.1f} s."
        case DatasetBuilt():
            reused = ", reused" if event.reused else ""
            unknown = f", {percent(event.unknown_share, 2)} of them unknown" if event.unknown_share else ""
            return (
                f"Data set {event.dataset}: {counted(event.train_tokens, 'training token')} and "
                f"{counted(event.val_tokens, 'validation token')}{unknown}, {event.bytes_per_token:.2f} bytes per token, split by {event.split_by}{reused}."
            )
        case Evaluated():
            return (
                f"step {event.step:,}: validation loss {event.loss:.4f} nats/token, perplexity {event.perplexity:.2f}, "
                f"{event.bits_per_byte:.3f} bits/byte"
            )
        case RemarkMade() if event.kind != NOT_FINITE:  # the error that ends the run says the same
            return f"step {event.step:,}: {event.message} {event.remedy}"
        case SampleWritten():
            return f"  sample: {_short(event.prompt)} → {_short(event.text)}"
        case ReportWritten():
            return f"Report of run {event.name!r}: {event.path} ({file_size(event.bytes)})."
        case RunEnded():
            reason = "stopped early" if event.reason == "early_stopped" else event.reason
            return f"Run {event.name!r} {reason} at step {event.step:,}, after {event.seconds:.0f} s."
        case _:
            return _sentence_of_a_reply(event)


def _sentence_of_a_reply(event: Event) -> str:
    match event:
        case ModelOpened():
            return f"[{event.name}, step {event.step:,}, {counted(event.parameters, 'parameter')}]"
        case PromptRead(unknown=unknown) if unknown:
            return f"[not in the vocabulary: {' '.join(map(repr, unknown))}]"
        case ContextMoved():
            cut = (
                "; the question is longer than the context, only its end was read"
                if event.question_cut
                else ""
            )
            turns = (
                f", among them {counted(event.dropped_turns, 'question')} with {noun_for(event.dropped_turns, 'its answer', 'their answers')}"
                if event.dropped_turns
                else ""
            )
            which = f"{event.sample}: " if event.sample else ""
            return f"[{which}context full: {counted(event.dropped, 'older token')} dropped{turns}{cut}]"
        case ReplyEnded():
            text = f"[{event.sample}] {event.text}" if event.sample else ""
            return (
                f"{text}\n[{event.reason}: {counted(event.tokens, 'token')}, {event.tokens_per_second:.0f} tokens/s, "
                f"first after {event.first_token_seconds * 1000:.0f} ms]"
            )
        case SeenFound():
            return found_line(event)
        case SeenLocated():
            return located_lines(event)
        case FuzzChecked():
            return _fuzz_report(event)
        case FuzzFound():
            return (
                f"case {event.case} of seed {event.seed}: {event.file}, {event.damage}; "
                f"{event.command}: {event.reported}"
            )
        case WorkspaceFuzzChecked():
            ends = ", ".join(f"{count:,} {end}" for end, count in event.ends)
            return f"{counted(event.cases, 'workspace')} in {event.seconds:.0f} s, {counted(event.findings, 'finding')}: {ends}"
        case _:
            return (
                evaluation_line(event) or serving_line(event) or compare_line(event) or benchmark_line(event)
            )


def _fuzz_report(event: FuzzChecked) -> str:
    states = ", ".join(f"{count:,} {state}" for state, count in event.states)
    broken = f"; {len(event.broken):,} broke a reader: {', '.join(event.broken[-3:])}" if event.broken else ""
    return f"{counted(event.files, 'file')} in {event.seconds:.0f} s: {states}{broken}"


def _short(text: str, length: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
