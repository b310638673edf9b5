"""Training steps to be timed: ours, `transformers`' and nanoGPT's, each made in the process that takes them.

Shapes
    B  sequences in the batch    T  positions    V  vocabulary
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import AdamW, Optimizer

from core.batches.sampler import Batch, Windows, batch_at
from core.batches.token_file import TokenFile
from core.bench.nanogpt import NanoGPT, nanogpt_batch, nanogpt_optimizer, nanogpt_step
from core.bench.peer import make_peer
from core.bench.shapes import random_batch
from core.bench.step_profile import REST, StepProfile
from core.config.model import ModelConfig
from core.config.run import RunConfig
from core.config.training import TrainingConfig
from core.control import StopToken
from core.model.memory import used_bytes
from core.model.transformer import Transformer
from core.trainer.choose_compute import choices_for, described
from core.trainer.prefetched_batches import PrefetchedBatches
from core.training.compute import ComputePlan, cpu_threads, make_train_state, measured_plan, steps_on
from core.training.core_sharing import sharing_cores
from core.training.loop import TrainingProgress, train
from core.training.precision import allow_tensor_float32, choose_device
from core.training.schedule import Plan

MEBIBYTE = 2**20
LOG_INTERVAL = 10  # steps after which nanoGPT's recipe reads the loss
ENDLESS = 1_000_000  # steps


class Steps:
    """Some steps of training at each call, with a model that goes on learning."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, device: torch.device) -> None:
        self.model, self.optimizer, self.device = model, optimizer, device
        self._profile: StepProfile | None = None

    def __call__(self) -> int:
        """Take them; how many tokens they read."""
        raise NotImplementedError

    def precision(self) -> str:
        """The number format of the matrix products."""
        return "float32"

    def device_mib(self) -> float:
        """The most memory of the device that there was in use, in MiB."""
        return used_bytes(self.device) / MEBIBYTE

    def shares(self) -> dict[str, float]:
        """Each part's share of the time of the steps of one call. From now on, all calls are watched."""
        self._profile = StepProfile(self.model, self.optimizer)
        self()
        return self._profile.shares()

    def enter(self, part: str) -> None:
        """Where a profile is taken: what comes now belongs to this part."""
        if self._profile is not None:
            self._profile.enter(part)


class OurSteps(Steps):
    """Through the very loop that trains a run, with batches from a file.

    Args:
        settings: What differs from `TrainingConfig`'s defaults, the device among it.
    """

    def __init__(
        self,
        config: ModelConfig,
        vocab_size: int,
        batch_size: int,
        steps: int,
        tokens: Path,
        settings: dict[str, Any],
    ) -> None:
        self.config = TrainingConfig.model_validate(
            {"batch_size": batch_size, "max_steps": ENDLESS} | settings
        )
        device = _device(self.config.device)
        model = Transformer(config, vocab_size).to(device)
        self._tokens = TokenFile(tokens, "uint16")
        self._windows = Windows(config.context_length, 0, batch_size)
        self._progress, self._steps = TrainingProgress(), steps
        self._plan = self._chosen(model)
        self._train_state = make_train_state(model, self.config, self._plan)
        super().__init__(self._train_state.compute_model, self._train_state.optimizer, device)
        self._prefetched = None
        if device.type == "cuda":
            self._prefetched = PrefetchedBatches(self._batch_at, device, batch_size)

    def __call__(self) -> int:
        before = self._progress.tokens
        plan = Plan(self._progress.step + self._steps, 1.0)
        given = (self.config, plan, self._progress, StopToken())
        if self._prefetched is None:
            steps = train(self._train_state, self._batch_at, *given)
        else:
            steps = train(self._train_state, self._prefetched, *given, meanwhile=self._prefetched.make_next)
        with cpu_threads(self._plan.threads), sharing_cores(self._plan.threads) as look_at_load:
            for _ in steps:
                look_at_load()
        return self._progress.tokens - before

    def precision(self) -> str:
        return self._plan.precision

    def plan(self) -> str:
        """How the passes are computed, in words: what the settings say, or what was measured."""
        return described(self._plan)

    def _chosen(self, model: Transformer) -> ComputePlan:
        choices = choices_for(RunConfig(model=model.config, training=self.config), model.device)
        batch = batch_at(self._tokens, self.config.seed, 0, self._windows)
        stop = StopToken()
        measured = measured_plan(choices, steps_on(model, self.config, batch, stop), stop)
        assert measured is not None
        return measured[0]

    def _batch_at(self, seen: int, cuts: int) -> Batch:
        self.enter("batch")
        batch = batch_at(self._tokens, self.config.seed, seen, self._windows, cuts=cuts)
        self.enter(REST)
        return batch


class NanoGPTSteps(Steps):
    """Its loop: the loss is read at every tenth step only."""

    def __init__(
        self,
        config: ModelConfig,
        vocab_size: int,
        batch_size: int,
        steps: int,
        tokens: Path,
        is_bfloat16: bool,
        device: str = "cpu",
    ) -> None:
        self._network = NanoGPT(config, vocab_size).to(device)
        self._adamw = nanogpt_optimizer(self._network, 1e-3, beta2=0.95)
        super().__init__(self._network, self._adamw, torch.device(device))
        allow_tensor_float32(self.device)
        self._shape = (config.context_length, batch_size)
        self._tokens, self._steps, self._is_bfloat16 = tokens, steps, is_bfloat16
        self._step = 0

    def __call__(self) -> int:
        for _ in range(self._steps):
            self.enter("batch")
            x, y = nanogpt_batch(self._tokens, *self._shape)
            if self.device.type == "cuda":
                x, y = x.pin_memory(), y.pin_memory()
            batch = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
            self.enter(REST)
            loss = nanogpt_step(self._network, self._adamw, batch, self._is_bfloat16)
            if self._step % LOG_INTERVAL == 0:
                loss.item()
            self._step += 1
        _wait_for(self.device)
        return self._steps * batch[0].numel()

    def precision(self) -> str:
        return "bfloat16" if self._is_bfloat16 else "float32"


class TransformersSteps(Steps):
    """What a user of `transformers` writes: its model, torch's AdamW as it comes, clipping; one batch again and again."""

    def __init__(
        self, config: ModelConfig, vocab_size: int, batch_size: int, steps: int, device: str = "cpu"
    ) -> None:
        model = make_peer(config, vocab_size).train().to(device)
        super().__init__(model, AdamW(model.parameters(), lr=1e-3), torch.device(device))
        x, y = random_batch(config, vocab_size, batch_size)
        self._batch = x.to(device), y.to(device)
        self._steps = steps

    def __call__(self) -> int:
        x, y = self._batch
        for _ in range(self._steps):
            logits = self.model(input_ids=x).logits  # (B, T, V)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            loss.item()
        return self._steps * x.numel()


class MatrixProducts:
    """torch's product of two square matrices in one number format: what a step would reach if it did nothing else."""

    def __init__(self, precision: str, size: int, device: str = "cpu") -> None:
        self._size, self._device = size, torch.device(device)
        allow_tensor_float32(self._device)
        dtype = getattr(torch, precision)
        self._matrices = [torch.randn(size, size).to(self._device, dtype) for _ in range(2)]

    def __call__(self) -> float:
        """Compute two; how many operations those are, in 10^12."""
        for _ in range(2):
            torch.mm(*self._matrices)
        _wait_for(self._device)
        return 2 * 2 * self._size**3 / 1e12


def _device(name: str) -> torch.device:
    """The device of that name; whoever starts the benchmark has seen that it is there."""
    device = choose_device(name)
    assert device is not None
    return device


def _wait_for(device: torch.device) -> None:
    """A GPU computes behind the program; a processor has come to its end already."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
