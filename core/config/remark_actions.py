"""What a user can do about a remark with one click, and the settings that change with it."""

from typing import Any

from core.config.run import RunConfig

STOP, BACK_TO_BEST = "stop", "back_to_best"
HALVE_LEARNING_RATE, RAISE_LEARNING_RATE = "halve_learning_rate", "raise_learning_rate"

TITLES = {  # for a button
    STOP: "Stop and keep best",
    BACK_TO_BEST: "Back to the best checkpoint",
    HALVE_LEARNING_RATE: "Halve the learning rate",
    RAISE_LEARNING_RATE: "Triple the learning rate",
}
HELP = {
    STOP: "Stop the run; the best checkpoint is kept.",
    BACK_TO_BEST: "Stop the run, go back to its best checkpoint and continue from there with half the learning rate. "
    "The same steps with the same rate would take the same course.",
    HALVE_LEARNING_RATE: "Stop the run, save it, and continue at once with half the learning rate.",
    RAISE_LEARNING_RATE: "Stop the run, save it, and continue at once with three times the learning rate.",
}
FACTORS = {BACK_TO_BEST: 0.5, HALVE_LEARNING_RATE: 0.5, RAISE_LEARNING_RATE: 3.0}
HIGHEST_RATE = 10.0  # the limit of the setting


def changes_of(action: str, config: RunConfig) -> dict[str, Any]:
    """The settings, by dotted name, with which a run goes on after an action: its learning rates, scaled."""
    training, factor = config.training, FACTORS[action]
    rate = min(HIGHEST_RATE, factor * training.learning_rate)
    changes = {"training.learning_rate": rate}
    if training.optimizer == "muon":
        changes["training.muon_learning_rate"] = min(HIGHEST_RATE, factor * training.muon_learning_rate)
    if training.min_learning_rate > rate:
        changes["training.min_learning_rate"] = rate
    return changes


def place_of(action: str) -> str:
    """The checkpoint from which a run goes on after an action; empty: from where it was stopped."""
    return "best" if action == BACK_TO_BEST else ""
