"""The checkpoint that a fine-tuned run's weights begin as, and the settings that the run has from it."""

from dataclasses import dataclass
from typing import Any

from core.config.run import RunConfig
from core.config.toml import with_settings
from core.config.training import TrainingConfig
from core.control import StopToken
from core.disk.checksums import hash_file
from core.errors.base import BadSettingError
from core.errors.runs import DamagedRunError
from core.runs.catalog import Catalog, read_config
from core.runs.folder import RunFolder, Workspace
from core.runs.pointers import find_checkpoint, kept_names
from core.runs.state import TOKENIZER, WEIGHTS, check_file, read_state
from core.tokenizers.files import load_tokenizer

RATES = ("learning_rate", "muon_learning_rate", "min_learning_rate")
RATE_DIVISOR = 10  # weights that were trained need smaller updates than random ones
OWN_GROUPS = ("tokenizer", "model")  # they made the weights
MAY_DIFFER = {"model": ("dropout",)}  # which no weight depends on


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A checkpoint, or snapshot, of a run. `which` is its step, or the name that it is kept under."""

    run: RunFolder
    step: int
    which: str

    @property
    def name(self) -> str:
        return f"{self.run.name}@{self.which}"


def find_base(workspace: Workspace, reference: str) -> BaseModel:
    """The checkpoint that NAME, NAME@STEP, NAME@best, NAME@last or NAME@LABEL stands for; NAME alone for its best.

    LABEL is the name of a kept one: the run's own checkpoint of that step may be another by now.

    Raises:
        UnknownRunError, NoCheckpointError: There is none.
        DamagedCheckpointError: It does not say what it is.
    """
    catalog = Catalog(workspace)
    name, which = catalog.run_and_checkpoint(reference)
    run = catalog.folder(name)
    step = read_state(find_checkpoint(run, which)).step
    return BaseModel(run, step, which if which in kept_names(run) else str(step))


def check_base(base: BaseModel, stop: StopToken | None = None) -> None:
    """See that its weights and its tokenizer are what was written, before any work is done for it.

    Raises:
        DamagedCheckpointError, DamagedRunError: They are not.
        StopRequested: `stop` was set before that was known.
    """
    checkpoint = find_checkpoint(base.run, base.which)
    state = read_state(checkpoint)
    check_file(checkpoint, WEIGHTS, state, stop)
    load_tokenizer(base.run.tokenizer)
    if TOKENIZER in state.sha256 and hash_file(base.run.tokenizer) != state.sha256[TOKENIZER]:
        raise DamagedRunError(base.run.name, f"{base.run.tokenizer.name} is not what was written")


def fine_tune_config(workspace: Workspace, reference: str) -> RunConfig:
    """What a fine-tune begins with: the settings of the base's run, a tenth of its learning rates, whole windows and no teachers.

    Raises:
        UnknownRunError, NoCheckpointError, DamagedCheckpointError, DamagedRunError: The base cannot be one.
    """
    base = find_base(workspace, reference)
    config = read_config(base.run)
    rates = {f"training.{name}": _tenth(config.training, name) for name in RATES}
    # the base has grown, and has learned from its own
    begun = {"training.context_growth": 1, "training.teachers": 0}
    return with_settings(config, {"base_model": base.name, **rates, **begun})


def with_base(config: RunConfig, base: BaseModel) -> RunConfig:
    """The settings with the base under its full name, as they are kept with the run.

    Raises:
        BadSettingError: They describe another model, or another tokenizer.
        DamagedRunError: The base's own cannot be read.
    """
    own = read_config(base.run)
    for group in OWN_GROUPS:
        settings: dict[str, Any] = getattr(config, group).model_dump(mode="json")
        for name, value in getattr(own, group).model_dump(mode="json").items():
            if settings[name] != value and name not in MAY_DIFFER.get(group, ()):
                raise BadSettingError(
                    f"{group}.{name}",
                    f"cannot be {settings[name]!r}: the base model {base.name} has {value!r}",
                )
    return config.model_copy(update={"base_model": base.name})


def fixed_settings() -> list[str]:
    """The settings that a fine-tuned run has from its base, by dotted name."""
    config = RunConfig()
    return [
        f"{group}.{name}"
        for group in OWN_GROUPS
        for name in type(getattr(config, group)).model_fields
        if name not in MAY_DIFFER.get(group, ())
    ]


def describe_base(base: BaseModel, config: RunConfig) -> str:
    """A sentence on what a fine-tune begins as."""
    peak, before = config.training.learning_rate, read_config(base.run).training.learning_rate
    return (
        f"The weights start as those of {base.run.name} at step {base.step:,}. The learning rate peaks at {peak:g}; "
        f"that of {base.run.name} peaked at {before:g}."
    )


def _tenth(training: TrainingConfig, name: str) -> float:
    return float(f"{getattr(training, name) / RATE_DIVISOR:.12g}")  # 6e-5 and not 5.9999999999999995e-05
