"""The request "the same prompt and seed for both": two models, or one run at each of its checkpoints."""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from core.config.sampling import LARGEST_SEED, SamplingConfig
from core.control import Returning, StopRequested, StopToken
from core.errors.runs import ModelTooLargeError, NoCheckpointError, raising_memory_errors
from core.events.base import Notice, Task
from core.events.comparison import (
    CheckpointReplied,
    SideEnded,
    SideMoved,
    SideOpened,
    SideRead,
    SideScored,
    SideWritten,
)
from core.events.replies import ContextMoved, PromptRead, ReplyEnded, TokenWritten
from core.metrics import perplexity
from core.runs.catalog import Catalog, has_conversations
from core.runs.folder import Workspace
from core.runs.pointers import find_checkpoint, saved_steps
from core.tasks.chat.reply import complete, reply
from core.tasks.models.open_model import OpenModel, open_model
from core.tasks.models.run_checkpoints import SKIPPED, RunCheckpoints, open_step
from core.tasks.models.score_text import have_one_vocabulary

LEAST_PROBABILITY = 1e-45  # of a float32: a token of probability 0 was drawn all the same


class TwoModelsTooLargeError(ModelTooLargeError):
    """One of two models fits beside what else is in memory, both do not."""

    def __init__(self, needed: int, available: int, name: str) -> None:
        super().__init__(needed, available)
        self.args = (needed, available, name)
        self.message = f"There is too little memory to open {name!r} beside the other model. {self.message}"
        self.remedy = "Compare a smaller model, or two checkpoints one after the other under All checkpoints."


@dataclass(frozen=True, slots=True)
class Side:
    """One of the models that are compared: a run, and "best", "last", a step or the name of a kept checkpoint."""

    name: str
    checkpoint: str = "best"


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """What all are asked. `answers`: they reply to a message instead of continuing a text."""

    text: str
    answers: bool
    sampling: SamplingConfig

    def seeded(self) -> "ComparedPrompt":
        """The same with a seed, drawn here where there was none: only then is what differs the models' doing."""
        if self.sampling.seed is not None:
            return self
        seed = random.SystemRandom().randint(0, LARGEST_SEED)
        return replace(self, sampling=self.sampling.model_copy(update={"seed": seed}))


@dataclass(slots=True, eq=False)
class ComparedModels:
    """Models that stay open while they are compared, at most one for each side: a closed box for one task at a time."""

    workspace: Workspace
    opened: dict[tuple[str, str], OpenModel] = field(default_factory=dict)  # by run and checkpoint's folder


def compare_replies(
    models: ComparedModels,
    sides: Sequence[Side],
    prompt: ComparedPrompt,
    stop: StopToken,
    window: OpenModel | None = None,
) -> Task[list[SideEnded]]:
    """Let two models go on with one prompt, token by token in turns, and measure how each foretells the other.

    Args:
        models: Those that are still open from the last time; what is not of these two sides is closed first.
        prompt: With a seed.
        window: A model that is open elsewhere, used where it is one of the two.

    Returns:
        What each wrote; of what was written so far where `stop` was set.

    Raises:
        TwoModelsTooLargeError: Both do not fit into memory.
        UnknownRunError, NoCheckpointError and others: As for `open_model`.
    """
    opened: list[OpenModel] = []
    for side, model_of in enumerate((yield from _open_all(models, sides, prompt, stop, window))):
        opened.append(model_of)
        yield SideOpened(
            side,
            model_of.name,
            model_of.step,
            model_of.parameters,
            model_of.context_length,
            model_of.has_conversations,
        )
    with raising_memory_errors():
        writers = [_SideWriter(side, model, prompt, stop) for side, model in enumerate(opened)]
        writing = list(writers)
        while writing:
            for writer in list(writing):
                yield from writer.take()
                if writer.ended is not None:
                    writing.remove(writer)
        if not stop.asked:
            yield from _scores(writers, prompt, stop)
    return [writer.ended for writer in writers if writer.ended is not None]


def reply_at_step(
    checkpoints: RunCheckpoints, step: int, prompt: ComparedPrompt, stop: StopToken
) -> Task[CheckpointReplied | None]:
    """What one checkpoint of a run writes; its tokens come as they are written, and last the whole.

    Returns:
        The whole; None where `stop` was set before that.

    Raises:
        UnknownRunError, NoCheckpointError, DamagedCheckpointError, WrongShapeError and others: As for `open_model`.
    """
    with raising_memory_errors():
        try:
            model = _model_at(checkpoints, step, prompt, stop)
        except StopRequested:
            return None
        writer = _SideWriter(0, model, prompt, stop)
        while writer.ended is None:
            yield from (event for event in writer.take() if not isinstance(event, SideEnded))
    ended = writer.ended
    if stop.asked:
        return None
    replied = CheckpointReplied(
        name=model.name,
        step=step,
        reason=ended.reason,
        text=ended.text,
        tokens=ended.tokens,
        tokens_per_second=ended.tokens_per_second,
        perplexity=ended.perplexity,
        val_loss=model.loaded.state.val_loss,
    )
    yield replied
    return replied


def replies_at_checkpoints(
    checkpoints: RunCheckpoints, prompt: ComparedPrompt, stop: StopToken
) -> Task[list[CheckpointReplied]]:
    """What every checkpoint of a run writes, the oldest first; one that has gone or is damaged is left out with a notice.

    Raises:
        UnknownRunError, NoCheckpointError: There is no such run, or it has none.
    """
    steps, replied = saved_steps(checkpoints.run), []
    if not steps:
        raise NoCheckpointError(checkpoints.name, "all", "")
    for step in steps:
        if stop.asked:
            break
        try:
            for event in reply_at_step(checkpoints, step, prompt, stop):
                if isinstance(event, CheckpointReplied):
                    replied.append(event)
                    yield event
        except SKIPPED as error:
            yield Notice(f"Step {step:,} is left out. {error.message}")
    return replied


class _SideWriter:
    """One reply as events of its side, and its own time."""

    def __init__(self, side: int, model: OpenModel, prompt: ComparedPrompt, stop: StopToken) -> None:
        self.side, self.model = side, model
        self.ended: SideEnded | None = None
        self.ids: list[int] = []
        self._stream: Task[ReplyEnded] = (
            reply(model, [("user", prompt.text)], prompt.sampling, stop, details=True)
            if prompt.answers
            else complete(model, prompt.text, prompt.sampling, stop, details=True)
        )
        self._seconds = self._first_token_seconds = self._nats = 0.0

    def take(self) -> Task[None]:
        """The next token, with whatever comes before it; or the end."""
        while self.ended is None:
            started = time.perf_counter()
            event = next(self._stream)
            self._seconds += time.perf_counter() - started
            match event:
                case PromptRead():
                    yield SideRead(self.side, event.tokens, event.unknown)
                case ContextMoved():
                    yield SideMoved(self.side, event.dropped)
                case TokenWritten():
                    self._count(event)
                    yield SideWritten(self.side, event.text)
                    return
                case ReplyEnded():
                    self.ended = self._end(event)
                    yield self.ended

    def _count(self, event: TokenWritten) -> None:
        if not self.ids:
            self._first_token_seconds = self._seconds
        self.ids.append(event.token_id)
        self._nats -= math.log(max(event.probability, LEAST_PROBABILITY))

    def _end(self, event: ReplyEnded) -> SideEnded:
        loss = self._nats / len(self.ids) if self.ids else None
        return SideEnded(
            side=self.side,
            name=self.model.name,
            step=self.model.step,
            reason=event.reason,
            text=event.text,
            tokens=event.tokens,
            seconds=self._seconds,
            first_token_seconds=self._first_token_seconds,
            tokens_per_second=event.tokens / max(self._seconds, 1e-9),
            loss=loss,
            perplexity=None if loss is None else perplexity(loss),
        )


def _open_all(
    models: ComparedModels,
    sides: Sequence[Side],
    prompt: ComparedPrompt,
    stop: StopToken,
    window: OpenModel | None,
) -> Task[list[OpenModel]]:
    """The models of the sides; what is open of others is let go before any is opened."""
    keys = [_key(models.workspace, side) for side in sides]
    models.opened = {key: model for key, model in models.opened.items() if key in keys}
    found: list[OpenModel] = []
    for side, key in zip(sides, keys, strict=True):
        stop.raise_if_asked()
        if window is not None and key == _key(models.workspace, Side(window.name, str(window.step))):
            found.append(window)
            continue
        if key not in models.opened:
            opening = Returning(
                open_model(models.workspace, side.name, key[1], stop, prompt.sampling.weights)
            )
            try:
                yield from (event for event in opening if isinstance(event, Notice))
            except ModelTooLargeError as error:
                if not found:
                    raise
                raise TwoModelsTooLargeError(error.args[0], error.args[1], side.name) from error
            models.opened[key] = opening.result
        found.append(models.opened[key])
    return found


def _key(workspace: Workspace, side: Side) -> tuple[str, str]:
    """What tells the model of a side: "best" and "last" are other checkpoints from time to time."""
    checkpoint = find_checkpoint(Catalog(workspace).folder(side.name), side.checkpoint)
    return side.name, str(int(checkpoint.name.removeprefix("step-")))


def _model_at(checkpoints: RunCheckpoints, step: int, prompt: ComparedPrompt, stop: StopToken) -> OpenModel:
    """One checkpoint of a run as a model, until the next one is opened."""
    loaded = open_step(checkpoints, step, stop)
    return OpenModel(
        name=checkpoints.name,
        step=step,
        parameters=loaded.state.parameters,
        context_length=loaded.config.model.context_length,
        has_conversations=has_conversations(checkpoints.run, loaded.state),
        sampling=loaded.config.sampling,
        run=checkpoints.run,
        weights=prompt.sampling.weights,  # whatever it says: weights that are put in anew stay as they were saved
        loaded=loaded,
    )


def _scores(writers: Sequence[_SideWriter], prompt: ComparedPrompt, stop: StopToken) -> Task[None]:
    """How each model foretells what the other one wrote."""
    for writer, other in zip(writers, reversed(writers), strict=True):
        assert other.ended is not None
        tokenizer = writer.model.loaded.tokenizer
        same = have_one_vocabulary(writer.model, other.model)
        ids = other.ids if same else tokenizer.encode(other.ended.text)
        if ids:
            loss = _mean_loss(writer.model, prompt, ids, stop)
            yield SideScored(writer.side, len(ids), loss, perplexity(loss))


def _mean_loss(model: OpenModel, prompt: ComparedPrompt, ids: Sequence[int], stop: StopToken) -> float:
    """The mean loss of a reply's tokens after the prompt, in nats; of both, what the context has room for."""
    import torch

    from core.batches.sampler import IGNORED
    from core.tasks.chat.reply import prompt_ids
    from core.training.interruption import interruptible
    from core.training.loss import token_losses

    before = prompt_ids(model, prompt.text, prompt.sampling, answers=prompt.answers)
    n_seen = model.context_length + 1
    whole = torch.tensor([*before, *ids][-n_seen:])  # (T + 1,)
    labels = whole[1:].clone()  # (T,)
    labels[: max(len(whole) - 1 - len(ids), 0)] = IGNORED
    transformer = model.loaded.model
    x, y = whole[None, :-1].to(transformer.device), labels[None].to(transformer.device)  # 2 x (1, T)
    with torch.inference_mode(), interruptible(transformer, stop):
        losses = token_losses(transformer, x, y)  # (1, T)
    return float(losses.double().sum()) / int((labels != IGNORED).sum())
