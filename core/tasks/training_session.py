"""A run in memory: its model, its data and its optimizer put together, new or from its last checkpoint."""

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from core.batches.dataset import Dataset
from core.batches.sampler import Windows, batch_at, eval_batches, steps_per_epoch
from core.batches.token_file import TokenFile
from core.config.run import RunConfig
from core.config.training import TrainingConfig
from core.control import StopToken
from core.errors import CompileFailedError, DeviceMissingError, RunFinishedError
from core.events import Event, Notice
from core.model.memory import check_memory_to_train
from core.model.transformer import Transformer
from core.runs.catalog import pointed_step
from core.runs.folder import RunFolder, Workspace
from core.runs.loading import load_model, read_optimizer
from core.tasks.settle_precision import settle_precision
from core.tokenizers.files import load_tokenizer
from core.tokenizers.tokenizer import Tokenizer, byte_lengths
from core.training.loop import Batch, Learner, Plan, Progress, accumulate_gradients
from core.training.optimizer import make_optimizer, restore_optimizer
from core.training.precision import Precision, PrecisionName, choose_device


@dataclass
class Session:
    """Everything a run needs between two steps."""

    folder: RunFolder
    config: RunConfig
    dataset: Dataset
    tokenizer: Tokenizer
    model: Transformer
    learner: Learner
    plan: Plan
    progress: Progress
    best_val_loss: float | None = None
    best_step: int | None = None

    @property
    def training(self) -> TrainingConfig:
        return self.config.training

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def windows(self) -> Windows:
        return windows_of(self.config)

    @cached_property
    def train_tokens(self) -> TokenFile:
        return self.dataset.tokens("train")

    @cached_property
    def val_tokens(self) -> TokenFile:
        """The validation text; the training text where there is too little to keep any apart."""
        return self.dataset.tokens("val" if self.dataset.val_tokens > 1 else "train")

    @cached_property
    def byte_lengths(self) -> Tensor:
        return torch.from_numpy(byte_lengths(self.tokenizer)).to(self.device)  # (V,)

    def batch_at(self, number: int) -> Batch:
        """The batch of one forward pass, counted since the run began, on the model's device."""
        x, y = batch_at(self.train_tokens, self.training.seed, number, 0, self.windows)
        return x.to(self.device), y.to(self.device)

    def val_batches(self) -> Iterator[Batch]:
        """The batches that every evaluation of this run reads."""
        for x, y in eval_batches(self.val_tokens, self.windows, self.training.eval_batches):
            yield x.to(self.device), y.to(self.device)


def open_session(
    workspace: Workspace, folder: RunFolder, config: RunConfig, dataset: Dataset, stop: StopToken
) -> Generator[Event, None, Session | None]:
    """Put a run together, from its last checkpoint where it has one.

    Returns:
        The run, or None where `stop` was set before it was known how to compute it.

    Raises:
        DeviceMissingError, RunFinishedError, DamagedCheckpointError, WrongShapeError: As their names say.
        ModelTooLargeError, CompileFailedError: As their names say; nothing was allocated, or nothing is kept.
    """
    device = choose_device(config.training.device)
    if device is None:
        raise DeviceMissingError(config.training.device)
    plan = _plan(config, dataset)
    tokenizer = load_tokenizer(folder.tokenizer)
    training = config.training
    check_memory_to_train(
        config.model, tokenizer.vocab_size, training.batch_size, training.precision != "float32", device
    )
    if training.warmup_steps >= plan.steps:
        yield Notice(
            f"The warm-up of {training.warmup_steps:,} steps is as long as the run of {plan.steps:,} or longer: "
            "the learning rate only rises, and never reaches its height."
        )
    if dataset.val_tokens < 2:
        yield Notice(
            "There is too little text to keep some apart: the run is measured on its own training text."
        )
    if pointed_step(folder, "last") is None:
        model = Transformer(config.model, tokenizer.vocab_size, config.training.seed).to(device)
        precision = yield from settle_precision(model, config, dataset, workspace, stop)
        if precision is None:
            return None
        learner = _learner(model, config, precision)
        session: Session | None = Session(
            folder, config, dataset, tokenizer, model, learner, plan, Progress()
        )
    else:
        session = yield from _restored(workspace, folder, config, dataset, plan, device, stop)
    if session is not None and config.training.compile:
        yield Notice("The model is being compiled, which can take minutes; a stop is heard after that.")
        _compile(session)
    return session


def _compile(session: Session) -> None:
    """Compile the model, and find out by one pass over a batch, which changes nothing, whether that works here.

    Raises:
        CompileFailedError: It does not, for example because there is no C++ compiler.
    """
    from torch._dynamo.exc import TorchDynamoException  # here, because it takes seconds to import

    session.model.train().compile()
    try:
        accumulate_gradients(session.model, [session.batch_at(0)], session.learner.precision, StopToken())
    except TorchDynamoException as cause:
        raise CompileFailedError(str(cause).partition("\n")[0]) from cause
    finally:
        session.model.zero_grad(set_to_none=True)


def _restored(
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset,
    plan: Plan,
    device: torch.device,
    stop: StopToken,
) -> Generator[Event, None, Session | None]:
    """The run as its last checkpoint left it, on this device."""
    loaded = load_model(folder, "last")
    state = loaded.state
    if state.step >= plan.steps:
        raise RunFinishedError(folder.name, state.step, _higher_limit(config.training, plan))
    model = loaded.model.to(device)
    precision = yield from settle_precision(model, config, dataset, workspace, stop, state.precision)
    if precision is None:
        return None
    learner = _learner(model, config, precision)
    restore_optimizer(learner.optimizer, model, read_optimizer(folder.checkpoint(state.step), state))
    if state.scaler:  # empty where the run did not scale its loss until now
        learner.precision.scaler.load_state_dict(state.scaler)
    progress = Progress(state.step, state.tokens, state.seconds, state.train_loss)
    return Session(
        folder,
        config,
        dataset,
        loaded.tokenizer,
        model,
        learner,
        plan,
        progress,
        state.best_val_loss,
        state.best_step,
    )


def _learner(model: Transformer, config: RunConfig, precision: PrecisionName) -> Learner:
    return Learner(model, make_optimizer(model, config.training), Precision(precision, model.device))


def _plan(config: RunConfig, dataset: Dataset) -> Plan:
    """The run's end: so many steps, or so many passes over the text, whichever comes first."""
    training = config.training
    batches_per_epoch = steps_per_epoch(dataset.train_tokens, windows_of(config))
    epoch = batches_per_epoch / training.gradient_accumulation_steps
    if not training.max_epochs:
        return Plan(training.max_steps, epoch)
    return Plan(min(training.max_steps, math.ceil(training.max_epochs * epoch)), epoch)


def _higher_limit(training: TrainingConfig, plan: Plan) -> str:
    if training.max_epochs and plan.steps < training.max_steps:
        return f"training.max_epochs={2 * training.max_epochs:g}"
    return f"training.max_steps={2 * plan.steps}"


def windows_of(config: RunConfig) -> Windows:
    """How this run's text is cut and gathered."""
    return Windows(config.model.context_length, config.training.window_overlap, config.training.batch_size)
