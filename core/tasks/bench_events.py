"""What the benchmarks and the fuzzers report. They reach no window and no journal."""

from dataclasses import dataclass

from core.events import Event


@dataclass(frozen=True, slots=True)
class BenchMeasured(Event):
    """One row of a benchmark: a median over interleaved rounds, and its ratio to the peer in the same rounds.

    `rate` counts `unit`, such as "tokens/s".
    """

    bench: str
    shape: str
    subject: str
    rate: float
    unit: str
    ratio_to_peer: float
    rounds: int


@dataclass(frozen=True, slots=True)
class BenchFact(Event):
    """One figure of a benchmark that has no peer, such as the memory that a process took at most."""

    bench: str
    shape: str
    subject: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class FuzzChecked(Event):
    """How many damaged files were imported so far, and what became of them.

    `states` and `reasons` are names with how often each occurred. `broken` names
    the copies of files that crashed their reader, ran into its limits, or met a defect of ours.
    """

    files: int
    seconds: float
    states: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FuzzFound(Event):
    """A command that broke its promise for a workspace with one damaged file: case `case` of `seed`."""

    case: int
    seed: int
    file: str
    damage: str
    command: str
    reported: str


@dataclass(frozen=True, slots=True)
class WorkspaceFuzzChecked(Event):
    """How many workspaces with a damaged file were tried so far, and how often their commands came to what."""

    cases: int
    seconds: float
    ends: tuple[tuple[str, int], ...]
    findings: int
