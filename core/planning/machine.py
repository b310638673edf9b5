"""What a run needs of a machine: free memory and disk, and how long its steps take there."""

from dataclasses import dataclass, replace

from core.config.run import RunConfig
from core.events.runs import StepTimes
from core.planning.expectation import Difficulty


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The tokens of a text as they were counted when its data set was built. `of` is what text, cut by what tokenizer."""

    of: str
    train_tokens: int
    val_tokens: int
    vocab_size: int


def text_and_tokenizer(run: RunConfig) -> str:
    """What the number of a run's tokens depends on, beside the library."""
    parts = (run.corpus, run.cleaning, run.tokenizer)
    return " ".join(part.model_dump_json() for part in parts)


@dataclass(frozen=True, slots=True)
class Machine:
    """What is free, in bytes, 0 where that is not known; `times` are those of the run's steps, where they are known.

    `tokens` are those of its text, where there is a data set of it. `pace` is the tokens per second of
    `core.planning.choice.reference`, 0 where it is not known; `difficulty` is that of the text, None where it is not known.
    `slowdown` is how many times as long work takes as on an idle machine, because of other programs.

    Of a run that was timed on a GPU, the memory is all of the GPU's.
    """

    memory_bytes: int = 0
    disk_bytes: int = 0
    times: StepTimes | None = None
    tokens: TokenCount | None = None
    pace: float = 0.0
    difficulty: Difficulty | None = None
    slowdown: float = 1.0

    @property
    def has_gpu(self) -> bool:
        """Whether the run was timed on a GPU."""
        return self.times is not None and self.times.device_bytes > 0

    def with_times(self, times: StepTimes | None) -> "Machine":
        """The machine with these times, and the memory that they were measured with."""
        memory = times.device_bytes if times and times.device_bytes else self.memory_bytes
        return replace(self, memory_bytes=memory, times=times)

    def tokens_of(self, run: RunConfig) -> TokenCount | None:
        """Those of this run's text; None where they were counted of another one."""
        return self.tokens if self.tokens and self.tokens.of == text_and_tokenizer(run) else None
