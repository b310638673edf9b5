"""What all events share: they are frozen, made of plain numbers and text, with units stated. The other files here are the events.

A loss is in nats per token, a time in seconds, a size in bytes, a step counts from 1. Events travel to the
window, to the terminal as JSON lines, and into a run's `events.jsonl`; nothing in them needs torch to be read.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, ClassVar, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Event:
    """What all events share: a name in snake case and a form fit for JSON."""

    def as_record(self) -> dict[str, Any]:
        """The fields by name, led by `event`, the class name in snake case."""
        return {"event": event_name(type(self))} | dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class WorkProgress(Event):
    """How much of some work is done, and of how much. `work` is what is done, for people."""

    work: ClassVar[str]
    unit: ClassVar[str]  # with which the names of the two fields begin

    @property
    def amounts(self) -> tuple[int, int]:
        """What is done, and all there is; that is 0 where it is not known."""
        return getattr(self, f"{self.unit}done"), getattr(self, f"{self.unit}total")


def event_name(kind: type[Event]) -> str:
    """The snake-case name of an event class: `StepDone` is `step_done`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


Task: TypeAlias = Generator[Event, None, R]  # what a user can ask for: it yields events and returns a result


def at_once(function: Callable[P, R]) -> Callable[P, Task[R]]:
    """A function as a task without events, for what takes a second at most. It runs when the first event is asked for."""

    @functools.wraps(function)
    def task(*arguments: P.args, **options: P.kwargs) -> Task[R]:
        yield from ()
        return function(*arguments, **options)

    return task


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A sentence the user should see that is not a failure.

    `is_detail` where it explains an automatic choice, or a window had it before the start: it is shown to those who ask.
    """

    text: str
    is_detail: bool = False
