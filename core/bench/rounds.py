"""Benchmarks of this machine: ours and a named peer in interleaved rounds, medians and their ratios.

One absolute figure on a shared machine means little, so each round runs every subject once, and what is
reported is the median of a subject's rounds and the median of its ratio to the peer within a round, with the
lowest and the highest of those ratios.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.control import StopToken
from core.events.base import Task
from core.events.bench import BenchMeasured

Subject = Callable[[], float]  # does one round's work and says how much it was
Rates = dict[str, list[float]]  # of each subject in each round, per second


class Ratio(NamedTuple):
    """Of two subjects' rates within a round: over all rounds."""

    median: float
    lowest: float
    highest: float


def interleave(
    bench: str, shape: str, unit: str, subjects: dict[str, Subject], rounds: int, stop: StopToken
) -> Task[list[BenchMeasured]]:
    """Run every subject once per round, after a first round that only warms up.

    Args:
        unit: What the subjects count, per second, such as "tokens/s".
        subjects: By name; the first one is the peer.

    Returns:
        A row for each subject; none where `stop` was set.
    """
    rates = run_rounds(subjects, rounds, stop)
    rows = measured_rows(bench, shape, unit, rates) if rates else []
    yield from rows
    return rows


def run_rounds(subjects: dict[str, Subject], rounds: int, stop: StopToken) -> Rates | None:
    """The rates of every subject in each round but the first; None where `stop` was set."""
    rates: Rates = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, work in subjects.items():
            if stop.asked:
                return None
            started = time.perf_counter()
            amount = work()
            if number:
                rates[name].append(amount / (time.perf_counter() - started))
    return rates


def measured_rows(bench: str, shape: str, unit: str, rates: Rates) -> list[BenchMeasured]:
    """A row for each subject; the first one is the peer."""
    peer = next(iter(rates.values()))
    return [
        BenchMeasured(
            bench,
            shape,
            name,
            statistics.median(own),
            unit,
            ratio.median,
            len(own),
            ratio.lowest,
            ratio.highest,
        )
        for name, own in rates.items()
        for ratio in (ratio_of(own, peer),)
    ]


def ratio_of(rates: Sequence[float], peer: Sequence[float]) -> Ratio:
    """How many times the peer's rate these are."""
    ratios = [rate / peer_rate for rate, peer_rate in zip(rates, peer, strict=True)]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))
