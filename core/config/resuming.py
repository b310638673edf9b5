"""What may change where a run goes on, and what each change does; the rest made the run what it is."""

from typing import Any

from core.config.run import RunConfig
from core.errors import BadSettingError

SCHEDULE = "The learning rate continues from its current value, and the schedule from there to the run's end."
ORDER = "The run continues at the same place in the text."
OTHER_TEXT = "Later validation losses are measured on another part of the text than earlier ones."
FROM_HERE = "Applies from the next step on."
EXACT = "The losses are no longer bit-identical to those of an unchanged run."

MAY_CHANGE = {
    "max_steps": SCHEDULE,
    "max_epochs": SCHEDULE,
    "horizon": SCHEDULE,
    "max_tokens": SCHEDULE,
    "max_minutes": SCHEDULE,
    "learning_rate": "The current learning rate is scaled by the same factor, and decays from there to the run's end.",
    "muon_learning_rate": "The current learning rate of the matrices that Muon updates is scaled by the same factor.",
    "min_learning_rate": SCHEDULE,
    "schedule": SCHEDULE,
    "warmup_steps": "During the warm-up the new length applies at once; after it nothing changes.",
    "warmup_ratio": "During the warm-up the new length applies at once; after it nothing changes.",
    "micro_batch_size": EXACT,
    "batch_size": f"{ORDER} {OTHER_TEXT}",
    "gradient_accumulation_steps": ORDER,
    "weight_decay": FROM_HERE,
    "beta1": FROM_HERE,
    "beta2": FROM_HERE,
    "muon_momentum": FROM_HERE,
    "muon_interval": FROM_HERE,
    "epsilon": FROM_HERE,
    "max_grad_norm": FROM_HERE,
    "eval_interval": FROM_HERE,
    "eval_batches": OTHER_TEXT,
    "early_stopping_patience": "Evaluations are counted anew from here.",
    "early_stopping_min_delta": "Evaluations are counted anew from here.",
    "keep_checkpoints": FROM_HERE,
    "snapshot_interval": FROM_HERE,
    "snapshot_dtype": FROM_HERE,
    "sample_prompts": FROM_HERE,
    "sample_tokens": FROM_HERE,
    "precision": EXACT,
    "attention": EXACT,
    "threads": EXACT,
    "device": EXACT,
    "compile": EXACT,
    "tensorboard": FROM_HERE,
    "keep_awake": FROM_HERE,
}
MAY_NOT_CHANGE = {
    "optimizer": "its state is the other optimizer's",
    "seed": "it determines the order of the text, and the run's position in it",
    "average_decay": "checkpoints hold the average of all weights since the run's beginning",
    "assistant_only_loss": "earlier losses counted other tokens; a fine-tune can change it",
    "window_overlap": "it determines how the text is cut into sequences, and the run's position in them",
}


def explain_changes(before: dict[str, Any], after: RunConfig) -> list[str]:
    """A sentence for each setting of `training` that differs.

    Args:
        before: The settings of the run until now, by group; one that is not in it counts as unchanged.

    Raises:
        BadSettingError: One of them made the run what it is.
    """
    sentences = []
    was = before.get("training", {})
    for name, value in after.training.model_dump(mode="json").items():
        if was.get(name, value) == value:
            continue
        if name in MAY_NOT_CHANGE:
            raise BadSettingError(
                f"training.{name}",
                f"cannot change once a run has begun: {MAY_NOT_CHANGE[name]}. It was {was[name]!r}",
            )
        moves_end = after.training.max_epochs and MAY_CHANGE[name].startswith(ORDER)
        effects = f"{MAY_CHANGE[name]} {SCHEDULE}" if moves_end else MAY_CHANGE[name]
        sentences.append(f"{name} is now {value!r} instead of {was[name]!r}. {effects}")
    return sentences
