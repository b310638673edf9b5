"""What the user chooses about how the next token is drawn."""

from core.config.setting import Config, setting


class SamplingConfig(Config):
    """The sampler's knobs. 0 (or 1.0 for top-p and the penalty) turns a filter off."""

    temperature: float = setting(
        0.8,
        "Temperature",
        "Below 1 keeps to the likely, above 1 dares more; 0 always takes the likeliest.",
        advanced=False,
        ge=0,
        le=10,
    )
    top_k: int = setting(
        50,
        "Top-k",
        "Only the k likeliest tokens may be drawn; 0 for all.",
        unit="tokens",
        advanced=False,
        ge=0,
        le=1_000_000,
    )
    top_p: float = setting(
        0.95,
        "Top-p",
        "Only the smallest set that holds this probability; 1 for all.",
        advanced=False,
        gt=0,
        le=1,
    )
    min_p: float = setting(
        0.0, "Min-p", "Only tokens at least this part as likely as the likeliest; 0 for all.", ge=0, le=1
    )
    repetition_penalty: float = setting(
        1.0,
        "Repetition penalty",
        "Above 1 makes tokens that occurred less likely, below 1 likelier.",
        ge=0.1,
        le=10,
    )
    max_new_tokens: int = setting(
        200,
        "Longest reply",
        "A reply ends here at the latest.",
        unit="tokens",
        advanced=False,
        ge=1,
        le=1_000_000,
    )
    seed: int | None = setting(
        None, "Seed", "Empty draws anew each time.", empty="random", ge=0, le=2**32 - 1
    )
    stop: tuple[str, ...] = setting((), "Stop texts", "A reply ends before any of these.")
    end_prompt: bool = setting(
        False, "End the prompt", "Puts <eos> after the prompt, as the teaching model is asked."
    )
