"""What the benchmarks report, as lines of text."""

from core.events.bench import (
    BenchCompared,
    BenchFact,
    BenchMeasured,
    BudgetMeasured,
    LearnCompared,
    LearnMeasured,
)
from core.wording import counted


def measured_line(event: BenchMeasured) -> str:
    return (
        f"{event.bench:<9}{event.shape:<14}{event.subject:<34}{event.rate:>10,.1f} {event.unit:<9}"
        f"{event.ratio_to_peer:>8.2f} x{_spread(event)}"
    )


def compared_line(event: BenchCompared) -> str:
    return (
        f"{event.bench:<9}{event.shape:<14}{event.subject:<48}{event.other:<22}"
        f"{event.ratio:>8.2f} x{_spread(event)}"
    )


def learn_measured_line(event: LearnMeasured) -> str:
    return (
        f"{event.subject:<9}step {event.step:>7,}{event.tokens:>13,} tokens"
        f"{event.seconds:>9.1f} s{event.loss:>9.4f} nats/character"
    )


def fact_line(event: BenchFact) -> str:
    return f"{event.bench:<9}{event.shape:<14}{event.subject:<48}{event.value:>10,.1f} {event.unit}"


def learn_compared_line(event: LearnCompared) -> str:
    seconds, lower = event.seconds_to_peer_loss, event.peer_loss - event.loss_at_peer_seconds
    reached = (
        "Ours did not reach that loss"
        if seconds is None
        else f"Ours reached that loss after {seconds:.1f} s, {seconds / event.peer_seconds:.2f} of its time"
    )
    return (
        f"{event.text}: nanoGPT ended at {event.peer_loss:.4f} nats/character, after {counted(event.peer_steps, 'step')} "
        f"and {event.peer_seconds:.1f} s. {reached}; after {event.peer_seconds:.1f} s it had "
        f"{event.loss_at_peer_seconds:.4f}, {abs(lower):.4f} {'lower' if lower >= 0 else 'higher'}. Ours ended at {event.loss:.4f}, after {counted(event.steps, 'step')} "
        f"and {event.seconds:.1f} s."
    )


def _spread(event: BenchMeasured | BenchCompared) -> str:
    return f" ({event.lowest_ratio:.2f} to {event.highest_ratio:.2f})"


def budget_line(event: BudgetMeasured) -> str:
    budget = f"{event.minutes:g} min, seed {event.seed}" if event.minutes else ""
    mixed = f"{event.documents_bits_per_byte:7.3f} with documents" if event.documents_bits_per_byte else ""
    return (
        f"{event.text:<16}{event.subject:<40}{budget:<18}{event.bits_per_byte:7.3f} bits/byte{mixed}"
        f"{event.seconds:9.0f} s  {event.detail}"
    )


LINES = (measured_line, compared_line, learn_measured_line, learn_compared_line, fact_line, budget_line)
