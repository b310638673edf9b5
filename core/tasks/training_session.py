"""A run in memory: its model, its data and its optimizer put together, new or from its last checkpoint."""

import shutil
from collections.abc import Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from core.batches.dataset import Dataset
from core.batches.sampler import Windows, batch_at
from core.batches.token_file import TokenFile
from core.checksums import hash_file
from core.config.run import RunConfig
from core.config.toml import checked
from core.config.training import TrainingConfig
from core.control import StopToken
from core.distributed import ONE_PROCESS, ProcessGroup
from core.errors import BadSettingError
from core.events import Event, Notice
from core.model.memory import check_memory_to_train
from core.model.transformer import Transformer
from core.run_errors import CompileFailedError, DeviceMissingError, RunFinishedError
from core.runs.folder import RunFolder, Workspace
from core.runs.loading import load_model, read_optimizer
from core.runs.pointers import best_step_of, checkpoint_steps, pointed_step, state_or_none
from core.runs.state import CheckpointState
from core.tasks.choose_compute import choose_compute
from core.tasks.plan_warnings import warmup_warning
from core.tasks.prefetched_batches import PrefetchedBatches
from core.tasks.run_estimate import count_snapshots, snapshot_bytes, snapshot_cost
from core.tasks.run_plan import higher_limits, new_plan, plan_on, windows_of
from core.tasks.validation_batches import ValidationBatches
from core.tokenizers.files import load_tokenizer
from core.tokenizers.tokenizer import Tokenizer, byte_lengths
from core.training.averaging import averaged_weights, swap_weights
from core.training.compute import ComputePlan, cpu_threads, make_train_state
from core.training.early_stopping import EarlyStopping
from core.training.loop import Batch, Plan, Progress, TrainState, accumulate_gradients
from core.training.optimizer import restore_optimizer
from core.training.precision import choose_device
from core.wording import file_size, number


@dataclass
class Session:
    """Everything a run needs between two steps."""

    folder: RunFolder
    config: RunConfig
    dataset: Dataset
    tokenizer: Tokenizer
    model: Transformer
    train_state: TrainState
    compute: ComputePlan
    plan: Plan
    progress: Progress
    group: ProcessGroup
    best_val_loss: float | None = None
    best_step: int | None = None
    early_stopping: EarlyStopping = field(default_factory=lambda: EarlyStopping(0, 0.0))

    def __post_init__(self) -> None:
        """Open what lies in other files now: a run that has begun finds nothing of it missing."""
        _ = self.train_tokens, self.val_tokens, self.tokenizer_sha256

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

    @cached_property
    def tokenizer_sha256(self) -> str:
        return hash_file(self.folder.tokenizer)

    def batch_at(self, seen: int) -> Batch:
        """This process's part of the forward pass that comes after so many windows, on the model's device."""
        if self._prefetched is not None:
            return self._prefetched(seen)
        x, y = self._batch_in_memory(seen)
        return x.to(self.device), y.to(self.device)

    def prepare_next_batch(self) -> None:
        """While a GPU takes a step, the processor has nothing else to do."""
        if self._prefetched is not None:
            self._prefetched.make_next()

    @cached_property
    def _prefetched(self) -> PrefetchedBatches | None:
        if self.device.type != "cuda":
            return None
        return PrefetchedBatches(self._batch_in_memory, self.device, self.training.batch_size)

    def _batch_in_memory(self, seen: int) -> Batch:
        return batch_at(self.train_tokens, self.training.seed, seen, self.windows, self.group)

    def averaged_weights(self) -> AbstractContextManager[None]:
        """Inside, the model has the average of its weights, where the run keeps one."""
        return averaged_weights(self.train_state.optimizer, self.train_state.low_precision)

    @cached_property
    def val_batches(self) -> ValidationBatches:
        """The batches that every evaluation of this run reads."""
        return ValidationBatches(self.val_tokens, self.windows, self.training.eval_batches, self.byte_lengths)


def open_session(
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset,
    stop: StopToken,
    group: ProcessGroup = ONE_PROCESS,
    resume_at: str = "last",
) -> Generator[Event, None, Session | None]:
    """Put a run together, from its last checkpoint where it has one.

    Args:
        resume_at: Another checkpoint to put it together from, by its step.
        group: This process among those that train the run together.

    Returns:
        The run, or None where `stop` was set before it was known how to compute it.

    Raises:
        BadSettingError: A batch has fewer rows than the group has processes.
        DeviceMissingError, RunFinishedError, DamagedCheckpointError, WrongShapeError: As their names say.
        ModelTooLargeError, CompileFailedError: As their names say; nothing was allocated, or nothing is kept.
    """
    device = choose_device(config.training.device)
    if device is None:
        raise DeviceMissingError(config.training.device)
    training = config.training
    if training.batch_size < group.world_size:
        raise BadSettingError(
            "training.batch_size",
            f"cannot be {training.batch_size}: each process (there are {number(group.world_size)}) needs a row of the batch",
        )
    check_memory_to_train(
        config.model,
        dataset.vocab_size,
        training.batch_size,
        training.precision != "float32",
        device,
        training.average_decay > 0,
    )
    if dataset.val_tokens < 2:
        yield Notice(
            "There is too little text for a validation split: the run is evaluated on its training text."
        )
    if pointed_step(folder, "last") is None:
        session = yield from _begun(workspace, folder, config, dataset, device, group, stop)
    else:
        session = yield from _restored(workspace, folder, config, dataset, device, group, stop, resume_at)
    if session is None:
        return None
    if session.plan.start is None and session.plan.steps <= training.warmup_steps:
        yield Notice(warmup_warning(training.warmup_steps, session.plan.steps))
    if notice := _snapshot_notice(session):
        yield notice
    if training.compile:
        yield Notice("Compiling the model, which can take minutes; a stop takes effect after that.")
        _compile(session)
    return session


def _snapshot_notice(session: Session) -> Notice | None:
    """What the snapshots to come take on the disk; None where there are none."""
    step, training = session.progress.step, session.training
    count = count_snapshots(training, range(step + 1 if step else 0, session.plan.steps + 1))
    if not count:
        return None
    parameters = sum(parameter.numel() for parameter in session.model.parameters())
    size = snapshot_bytes(training, parameters)
    cost = snapshot_cost(count, size, "more snapshot" if step else "snapshot")
    free = shutil.disk_usage(session.folder.root).free
    if count * size <= free:
        return Notice(f"{cost}.", is_detail=True)  # a window shows it before the start
    return Notice(f"{cost}. Only {file_size(free)} are free on this disk; raise training.snapshot_interval.")


def _begun(
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset,
    device: torch.device,
    group: ProcessGroup,
    stop: StopToken,
) -> Generator[Event, None, Session | None]:
    """A run before its first step, on this device."""
    tokenizer = load_tokenizer(folder.tokenizer)
    plan = new_plan(config, dataset, Progress())
    model = Transformer(config.model, tokenizer.vocab_size, config.training.seed).to(device)
    compute = yield from choose_compute(model, config, dataset, workspace, stop)
    if compute is None:
        return None
    train_state = make_train_state(model, config.training, compute)
    early_stopping = EarlyStopping.begun(config.training)
    return Session(
        *(folder, config, dataset, tokenizer, model, train_state, compute, plan, Progress(), group),
        early_stopping=early_stopping,
    )


def _compile(session: Session) -> None:
    """Compile the model, and find out by one pass over a batch, which changes nothing, whether that works here.

    Raises:
        CompileFailedError: It does not, for example because there is no C++ compiler.
    """
    from torch._dynamo.exc import TorchDynamoException  # here, because it takes seconds to import

    session.train_state.compute_model.train().compile()
    try:
        with cpu_threads(session.compute.threads):  # another number would compile it again
            accumulate_gradients(
                session.train_state.compute_model,
                [session.batch_at(0)],
                session.train_state.precision,
                StopToken(),
            )
    except TorchDynamoException as cause:
        raise CompileFailedError(str(cause).partition("\n")[0]) from cause
    finally:
        session.model.zero_grad(set_to_none=True)


def _restored(
    workspace: Workspace,
    folder: RunFolder,
    config: RunConfig,
    dataset: Dataset,
    device: torch.device,
    group: ProcessGroup,
    stop: StopToken,
    resume_at: str,
) -> Generator[Event, None, Session | None]:
    """The run as a checkpoint left it, on this device."""
    loaded = load_model(folder, resume_at, stop)
    state = loaded.state
    assert state.windows is not None  # which version 0.1 did not keep: `adopt_first_format` came before
    before = checked(TrainingConfig, state.settings["training"])
    progress = Progress(state.step, state.windows, state.tokens, state.seconds, state.train_loss)
    plan = plan_on(config, before, dataset, progress, state)
    looked = state.val_loss is not None  # else a stop cut off the last evaluation, which is still to be made
    if state.step > plan.steps:
        limit = "max_steps" if config.training.max_steps < state.step else "max_epochs"
        raise BadSettingError(
            f"training.{limit}",
            f"would end the run at step {plan.steps:,}, and it has taken {state.step:,} already",
        )
    if state.step == plan.steps and looked:
        raise RunFinishedError(folder.name, state.step, higher_limits(config.training, plan, progress))
    model = loaded.model.to(device)
    computed = ComputePlan(state.precision, state.attention, state.threads)  # type: ignore[arg-type]  # compared with names
    compute = yield from choose_compute(model, config, dataset, workspace, stop, computed)
    if compute is None:
        return None
    train_state = make_train_state(model, config.training, compute)
    restore_optimizer(
        train_state.optimizer, model, read_optimizer(folder.checkpoint(state.step), state, stop)
    )
    swap_weights(train_state.optimizer, train_state.low_precision)
    if state.scaler:  # empty where the run did not scale its loss until now
        train_state.precision.scaler.load_state_dict(state.scaler)
    best_val_loss, best_step = _best(folder, state)
    return Session(
        folder,
        config,
        dataset,
        loaded.tokenizer,
        model,
        train_state,
        compute,
        plan,
        progress,
        group,
        best_val_loss,
        best_step,
        _early_stopping(config.training, before, state),
    )


def _early_stopping(
    training: TrainingConfig, before: TrainingConfig, state: CheckpointState
) -> EarlyStopping:
    """As the checkpoint left it; counted anew where its settings have changed."""
    begun = EarlyStopping.begun(training)
    same = begun == EarlyStopping.begun(before)
    if state.step:  # the untrained model is evaluated again
        begun.best, begun.count = state.early_stopping_best, state.early_stopping_count if same else 0
    return begun


def _best(folder: RunFolder, state: CheckpointState) -> tuple[float | None, int | None]:
    """The best validation loss until now and its step, of the checkpoints that are still there."""
    if state.best_step in checkpoint_steps(folder):
        return state.best_val_loss, state.best_step
    best = best_step_of(folder, [step for step in checkpoint_steps(folder) if step <= state.step])
    best_state = state_or_none(folder, best)
    if best_state is None:
        return None, None
    return best_state.val_loss, best_state.step
