"""What the user chooses about the remarks on a run's curves: whether there are any, and from which figures on."""

from core.config.setting import Config, setting

NOT_FINITE, SPIKE, PLATEAU, OVERFITTING = "not_finite", "spike", "plateau", "overfitting"
RATE_TOO_LARGE, RATE_TOO_SMALL = "learning_rate_too_large", "learning_rate_too_small"
LITTLE_DATA, BEHIND = "little_data", "behind"
VERDICT = "verdict"  # the summary at the end of a run, not a problem


class DoctorConfig(Config):
    """When a run's curves are worth a remark. Remarks change nothing in the run."""

    enabled: bool = setting(
        True, "Remarks", "Watches the curves of a run and says what is wrong with them, and what helps."
    )
    spike_rise: float = setting(
        1.0,
        "Spike",
        "By how much the mean loss of ten steps must exceed that of the hundred before to count as a spike.",
        unit="nats/token",
        gt=0,
        le=1000,
    )
    spike_deviations: float = setting(
        4.0,
        "Spike in deviations",
        "A spike must also rise by this many standard deviations of the loss of single steps.",
        ge=0,
        le=1000,
    )
    rate_too_large_rise: float = setting(
        0.5,
        "Rise of the loss",
        "The learning rate is called too large if the mean loss of a hundred steps exceeds the lowest one before by this much.",
        unit="nats/token",
        gt=0,
        le=1000,
    )
    rate_too_small_steps: int = setting(
        200,
        "Time to learn",
        "The learning rate is called too small if the model has learned next to nothing this many steps after the warm-up.",
        unit="steps",
        ge=100,
        le=10_000_000,
    )
    rate_too_small_share: float = setting(
        0.9,
        "Next to nothing",
        "A loss above this share of ln(vocabulary), that of guessing each token alike, means that next to nothing is learned.",
        gt=0,
        le=1,
    )
    behind_factor: float = setting(
        1.1,
        "Behind",
        "A run is called behind if, from its half on, its validation text costs more than this many times what was expected at most.",
        ge=1,
        le=100,
    )
    plateau_steps: int = setting(
        300,
        "Plateau",
        "The fewest steps without progress that count as a plateau.",
        unit="steps",
        ge=100,
        le=10_000_000,
    )
    plateau_share: float = setting(
        0.3,
        "Plateau as a share",
        "The smallest part of all steps so far that counts as a plateau.",
        gt=0,
        lt=1,
    )
    plateau_fall: float = setting(
        0.01,
        "Least progress",
        "A loss that falls by less than this is on a plateau.",
        unit="nats/token",
        ge=0,
        le=100,
    )
    overfitting_evaluations: int = setting(
        3,
        "Over-fitting",
        "This many evaluations in a row must be worse than the best, while the training loss falls.",
        unit="evaluations",
        ge=1,
        le=10_000,
    )
    overfitting_rise: float = setting(
        0.03,
        "Validation rise",
        "By how much the validation loss must have risen from its best to count as over-fitting.",
        unit="nats/token",
        ge=0,
        le=100,
    )
    little_data_epochs: float = setting(
        4.0,
        "Passes over little text",
        "The text can be called too small after this many passes over it.",
        unit="epochs",
        gt=0,
        le=1e6,
    )
    little_data_gap: float = setting(
        0.5,
        "Validation gap",
        "The text is called too small if the validation loss exceeds the training loss by this much.",
        unit="nats/token",
        gt=0,
        le=100,
    )
