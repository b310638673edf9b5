"""Benchmarks of this machine: ours and a named peer in interleaved rounds, medians and their ratios.

One absolute figure on a shared machine means little, so each round runs every subject once, and what is
reported is the median of a subject's rounds and the median of its ratio to the peer within a round.
"""

import statistics
import time
from collections.abc import Callable, Generator

from core.control import StopToken
from core.events import Event
from core.tasks.bench_events import BenchMeasured

Stream = Generator[Event, None, list[BenchMeasured]]
Subject = Callable[[], float]  # does one round's work and says how much it was


def interleave(
    bench: str, shape: str, unit: str, subjects: dict[str, Subject], rounds: int, stop: StopToken
) -> Stream:
    """Run every subject once per round, after a first round that only warms up.

    Args:
        unit: What the subjects count, per second, such as "tokens/s".
        subjects: By name; the first one is the peer.

    Returns:
        A row for each subject; none where `stop` was set.
    """
    speeds: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, work in subjects.items():
            if stop.asked:
                return []
            started = time.perf_counter()
            amount = work()
            if number:
                speeds[name].append(amount / (time.perf_counter() - started))
    peer = next(iter(speeds.values()))
    results = []
    for name, rates in speeds.items():
        ratio = statistics.median(rate / peer_rate for rate, peer_rate in zip(rates, peer, strict=True))
        results.append(BenchMeasured(bench, shape, name, statistics.median(rates), unit, ratio, rounds))
        yield results[-1]
    return results
