"""What the user chooses about the training loop."""

from typing import Literal, Self

from pydantic import model_validator

from core.config.setting import Config, setting


class TrainingConfig(Config):
    """Batches, optimizer, schedule, precision, and how often to look and to save."""

    max_steps: int = setting(
        1000,
        "Steps",
        "How many optimizer steps the run takes.",
        unit="steps",
        advanced=False,
        ge=1,
        le=100_000_000,
    )
    max_epochs: float = setting(
        0,
        "Epochs",
        "Ends the run earlier, after so many passes over the text; 0 for no such end.",
        unit="epochs",
        ge=0,
        le=1e6,
    )
    batch_size: int = setting(
        32, "Batch", "Windows of text in one forward pass.", unit="windows", advanced=False, ge=1, le=65536
    )
    gradient_accumulation_steps: int = setting(
        1,
        "Accumulation",
        "Forward passes whose gradients are added before one step.",
        unit="passes",
        ge=1,
        le=65536,
    )
    window_overlap: int = setting(
        0,
        "Window overlap",
        "Tokens that neighbouring windows share; 0 lays them end to end.",
        unit="tokens",
        ge=0,
        le=131071,
    )
    optimizer: Literal["adamw", "adam"] = setting(
        "adamw", "Optimizer", "AdamW decays weights apart from the gradient."
    )
    learning_rate: float = setting(
        1e-3,
        "Learning rate",
        "The largest step size, reached after the warm-up.",
        advanced=False,
        gt=0,
        le=10,
    )
    min_learning_rate: float = setting(1e-4, "Least learning rate", "Where the schedule ends.", ge=0, le=10)
    schedule: Literal["cosine", "linear", "constant"] = setting(
        "cosine", "Schedule", "How the learning rate falls after the warm-up."
    )
    warmup_steps: int = setting(
        100,
        "Warm-up",
        "Steps over which the learning rate rises from near zero.",
        unit="steps",
        ge=0,
        le=10_000_000,
    )
    weight_decay: float = setting(
        0.1, "Weight decay", "On matrices only; none on biases, norms and position embeddings.", ge=0, le=10
    )
    beta1: float = setting(0.9, "Beta 1", "How long the gradient's running mean remembers.", ge=0, lt=1)
    beta2: float = setting(
        0.99, "Beta 2", "How long the squared gradient's running mean remembers.", ge=0, lt=1
    )
    epsilon: float = setting(1e-8, "Epsilon", "Added to the root of the squared gradient's mean.", gt=0, le=1)
    max_grad_norm: float = setting(
        1.0, "Gradient clip", "A longer gradient is scaled down to this length; 0 turns it off.", ge=0, le=1e6
    )
    eval_interval: int = setting(
        100,
        "Evaluate every",
        "Steps between two evaluations; each is followed by a sample and a checkpoint.",
        unit="steps",
        ge=1,
        le=10_000_000,
    )
    eval_batches: int = setting(
        20,
        "Evaluation batches",
        "The most batches of validation text that one evaluation reads.",
        unit="batches",
        ge=1,
        le=1_000_000,
    )
    keep_checkpoints: int = setting(
        3,
        "Checkpoints kept",
        "The newest ones; the best is kept besides.",
        unit="checkpoints",
        ge=1,
        le=10_000,
    )
    sample_prompt: str = setting("", "Sample prompt", "Each evaluation shows what the model writes after it.")
    sample_tokens: int = setting(
        64, "Sample length", "The most tokens of that text; 0 for none.", unit="tokens", ge=0, le=4096
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto",
        "Precision",
        "auto measures a few steps and takes the fastest that is safe; float16 needs a GPU.",
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting(
        "auto", "Device", "auto takes a GPU where there is one."
    )
    compile: bool = setting(
        False, "torch.compile", "Compiles the model first; slow to start, sometimes faster after."
    )
    seed: int = setting(
        42, "Seed", "One number fixes initial weights, data order, dropout and samples.", ge=0, le=2**32 - 1
    )

    @model_validator(mode="after")
    def _schedule_falls(self) -> Self:
        if self.min_learning_rate > self.learning_rate:
            raise ValueError(
                f"min_learning_rate: {self.min_learning_rate} must not exceed learning_rate, {self.learning_rate}"
            )
        return self
