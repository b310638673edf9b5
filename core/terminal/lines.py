"""Each event as a line of text for people."""

from core.config.doctor import NOT_FINITE
from core.events.base import Event, Notice
from core.events.bench import FuzzChecked, FuzzFound, WorkspaceFuzzChecked
from core.events.documents import (
    FilesChanged,
    ImportFinished,
    NearDuplicatesFound,
)
from core.events.replies import ContextMoved, ModelOpened, PromptRead, ReplyEnded
from core.events.runs import (
    DatasetBuilt,
    Evaluated,
    RemarkMade,
    ReportWritten,
    RunEnded,
    RunPrepared,
    SampleWritten,
    StepDone,
    TokenizerBuilt,
)
from core.events.seen import SeenFound, SeenLocated
from core.terminal.bench_lines import benchmark_line
from core.terminal.comparison_lines import compare_line
from core.terminal.scoring_lines import evaluation_line
from core.terminal.seen_lines import found_line, located_lines
from core.terminal.serving_lines import serving_line
from core.wording import counted, file_size, noun_for, percent


def prepared_line(event: RunPrepared) -> str:
    begins = f"resumes after step {event.start_step:,}" if event.start_step else "starts"
    return (
        f"Run {event.name!r} {begins}: {counted(event.parameters, 'parameter')}, "
        f"vocabulary {counted(event.vocab_size, 'token')}, "
        f"{counted(event.max_steps, 'step')} of {counted(event.tokens_per_step, 'token')}, {event.device}, {event.precision}."
    )


def step_figures(event: StepDone) -> str:
    return (
        f"loss {event.loss:.3f} nats/token, lr {event.learning_rate:.1e}, {event.seconds * 1000:.0f} ms/step, "
        f"{event.tokens_per_second:,.0f} tokens/s, epoch {event.epoch:.2f}"
    )


def event_line(event: Event) -> str:
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
            return _reply_line(event)


def _reply_line(event: Event) -> str:
    match event:
        case ModelOpened():
            return f"[{event.name}, step {event.step:,}, {counted(event.parameters, 'parameter')}]"
        case PromptRead(unknown=unknown) if unknown:
            return f"[not in the vocabulary: {' '.join(map(repr, unknown))}]"
        case ContextMoved():
            cut = (
                "; the question is longer than the context: only its end was read"
                if event.question_cut
                else ""
            )
            turns = (
                f", among them {counted(event.dropped_turns, 'question')} with {noun_for(event.dropped_turns, 'its answer', 'their answers')}"
                if event.dropped_turns
                else ""
            )
            system = (
                "; the system message is dropped too, being longer than half of the context"
                if event.system_dropped
                else ""
            )
            which = f"{event.sample}: " if event.sample else ""
            return (
                f"[{which}context full: {counted(event.dropped, 'older token')} dropped{turns}{system}{cut}]"
            )
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
    broken = (
        f"; {len(event.broken):,} crashed a reader: {', '.join(event.broken[-3:])}" if event.broken else ""
    )
    return f"{counted(event.files, 'file')} in {event.seconds:.0f} s: {states}{broken}"


def _short(text: str, length: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
