"""The samples of a run by step and prompt, in the order of the steps, whatever was taken up again."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from core.events.runs import SampleWritten


class SampleSteps:
    """What was written at each step, by prompt; those of steps that come again take the place of the earlier ones."""

    def __init__(self) -> None:
        self.steps: list[int] = []  # ascending
        self._texts: dict[int, dict[str, str]] = {}

    def add(self, samples: Iterable[SampleWritten]) -> None:
        """Take in what was written next. A step behind the newest one means that the run was taken up there."""
        for sample in samples:
            for later in self.steps[bisect_right(self.steps, sample.step) :]:
                del self._texts[later]
            del self.steps[bisect_right(self.steps, sample.step) :]
            if sample.step not in self._texts:
                self.steps.append(sample.step)
                self._texts[sample.step] = {}
            self._texts[sample.step][sample.prompt] = sample.text

    def at(self, step: int) -> dict[str, str]:
        """What was written at a step, by prompt."""
        return self._texts.get(step, {})

    def prompts(self) -> list[str]:
        """All prompts there were, those of the newest step first."""
        found: dict[str, None] = {}
        for step in reversed(self.steps):
            found.update(dict.fromkeys(self._texts[step]))
        return list(found)

    def place(self, step: int) -> int:
        """Where a step stands among the others, or the last one before it."""
        return (
            max(bisect_right(self.steps, step) - 1, 0)
            if step in self._texts
            else bisect_left(self.steps, step)
        )
