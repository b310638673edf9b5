"""What a self-test reports."""

from dataclasses import dataclass

from core.events.base import Event


@dataclass(frozen=True, slots=True)
class CheckEnded(Event):
    """A check of the installation was made, in `seconds`. `problem` is what did not hold, "" where all did."""

    name: str
    seconds: float
    problem: str


@dataclass(frozen=True, slots=True)
class SelftestEnded(Event):
    """All checks were made, in `seconds`; `passed` of `checks` hold."""

    passed: int
    checks: int
    seconds: float
