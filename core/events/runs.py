"""What a run reports, from the library's text to its last checkpoint."""

from dataclasses import dataclass, replace
from typing import ClassVar

from core.events.base import Event, WorkProgress

# text -> tokens


@dataclass(frozen=True, slots=True)
class LearningProgress(WorkProgress):
    """Characters of training text read so far, of all there are, to learn a vocabulary from.

    Once all are read, the vocabulary is made of them. That can take a minute, without any event.
    """

    work: ClassVar = "Training the tokenizer"
    unit: ClassVar = "characters_"

    characters_done: int
    characters_total: int


@dataclass(frozen=True, slots=True)
class TokenizerBuilt(Event):
    """A tokenizer was learned from the corpus, or found from an earlier time."""

    kind: str
    vocab_size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DatasetProgress(WorkProgress):
    """Characters encoded so far, of all there are."""

    work: ClassVar = "Encoding text"
    unit: ClassVar = "characters_"

    characters_done: int
    characters_total: int


@dataclass(frozen=True, slots=True)
class DatasetBuilt(Event):
    """The token files stand. `dataset` is their folder's name, a hash of everything that made them.

    `unknown_share` is the part of all tokens that stands for what the vocabulary lacks, from 0 to 1.
    """

    dataset: str
    documents: int
    train_tokens: int
    val_tokens: int
    vocab_size: int
    bytes_per_token: float
    has_conversations: bool
    split_by: str  # "documents" or "blocks"
    reused: bool
    seconds: float
    unknown_share: float = 0.0  # runs of version 0.1 did not count it


# batch -> logits -> loss -> step


@dataclass(frozen=True, slots=True)
class StepTimes(Event):
    """How long training takes here: seconds of one optimizer step, and of one batch of an evaluation.

    `device_bytes` is all the memory of a GPU; 0 for a processor.
    """

    step_seconds: float
    evaluation_batch_seconds: float
    device: str = "cpu"
    device_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RunPrepared(Event):
    """A run is ready to take its next step. `start_step` is 0 for a new run.

    `expected` has steps, each with the least and the most bits per byte of validation text that an evaluation there will
    probably find; empty where that is not known, as in runs of earlier versions. `teacher` is empty but where a model is
    trained before the run's own, such as "teacher 2 of 4": the steps that follow are its, and `to_follow` is how many times as
    long as for them it takes to train what comes after it. `learning_rates` has steps with the learning rate that is planned after each,
    to be joined by straight lines.
    """

    name: str
    preset: str
    parameters: int
    vocab_size: int
    start_step: int
    max_steps: int
    steps_per_epoch: float
    tokens_per_step: int
    device: str
    precision: str
    seed: int
    expected: tuple[tuple[int, float, float], ...] = ()
    teacher: str = ""
    to_follow: float = 0.0
    learning_rates: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class MachineNoted(Event):
    """What the run computes on after this step. `time` is when that began, in seconds since 1970.

    What the system does not tell is "" or 0. `cores` are those of the machine, `threads` those that the run computes on
    (0: torch's own choice). `gpu` is the device of the run, "" where that is the processor. The last three are versions.
    """

    step: int
    time: float
    system: str
    processor: str
    cores: int
    threads: int
    memory_bytes: int
    gpu: str
    gpu_memory_bytes: int
    program: str
    python: str
    torch: str


@dataclass(frozen=True, slots=True)
class EndMoved(Event):
    """A run in minutes will end after another step than was planned, for its steps take another time; `expected` as above."""

    step: int
    max_steps: int
    expected: tuple[tuple[int, float, float], ...] = ()

    def moved(self, prepared: RunPrepared) -> RunPrepared:
        """What was prepared, with its new end."""
        return replace(prepared, max_steps=self.max_steps, expected=self.expected)


@dataclass(frozen=True, slots=True)
class StepDone(Event):
    """One optimizer step. `tokens` counts those learned from since the run began, without padding; `seconds` is its time.

    `memory_bytes` is what the process holds in RAM, or the most that it has held on a GPU; 0 where it was not measured.
    """

    step: int
    loss: float
    learning_rate: float
    grad_norm: float
    tokens: int
    tokens_per_second: float
    seconds: float
    epoch: float
    memory_bytes: int = 0  # not measured by earlier versions


@dataclass(frozen=True, slots=True)
class Evaluated(Event):
    """The model measured on validation text it never trained on."""

    step: int
    loss: float
    perplexity: float
    bits_per_byte: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """What something simple reaches on a run's validation text, so that a loss means something.

    `bits_per_byte` counts text alone. `loss` is in nats per token over all targets, None where they cannot be compared.
    """

    name: str  # "unigram", "trigram" or "lzma"
    title: str
    bits_per_byte: float
    loss: float | None


@dataclass(frozen=True, slots=True)
class BaselinesMeasured(Event):
    """What simple models, learned from a data set's training text, reach on its validation text.

    `train_tokens` and `val_tokens` are how many of them were counted, `val_bytes` how much text the latter stand for.
    """

    dataset: str
    baselines: tuple[Baseline, ...]
    train_tokens: int
    val_tokens: int
    val_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RemarkMade(Event):
    """Something that the curves of a run say at this step: a sentence, what helps, and the one action that is offered.

    `kind` is one of `core.config.doctor`'s, `action` one of `core.config.remark_actions`, or "" where no button helps.
    """

    step: int
    kind: str
    message: str
    remedy: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class SampleWritten(Event):
    """What the model writes after a fixed prompt with a fixed seed, at this step."""

    step: int
    prompt: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckpointBegun(Event):
    """A large checkpoint is about to be written, which takes seconds; the steps go on as soon as there is a copy of it."""

    step: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CheckpointSaved(Event):
    """A checkpoint is whole on the disk."""

    step: int
    path: str
    is_best: bool
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SnapshotSaved(Event):
    """The weights of a step are whole on the disk, to be looked at."""

    step: int
    path: str
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The last event of a run's stream. `reason` is "finished", "stopped" or "early_stopped".

    `best_val_loss` is None where the run was never evaluated, or no step of it that was trained.
    """

    name: str
    step: int
    reason: str
    best_val_loss: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ReportWritten(Event):
    """A run's report stands on the disk."""

    name: str
    path: str
    bytes: int
