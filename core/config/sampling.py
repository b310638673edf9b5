"""What the user chooses about how a reply is generated."""

from typing import Literal

from core.config.setting import Config, setting

WeightsFormat = Literal["auto", "float32", "bfloat16", "int8"]

LARGEST_SEED = 2**32 - 1


class SamplingConfig(Config):
    """How a reply is generated, token by token. 0 (or 1.0 for top-p and the penalty) turns a filter off."""

    temperature: float = setting(
        0.8,
        "Temperature",
        "Divides the logits: below 1 favours likely tokens, above 1 is more random; 0: greedy decoding.",
        advanced=False,
        ge=0,
        le=10,
    )
    top_k: int = setting(
        50,
        "Top-k",
        "Samples from the k most likely tokens only; 0: from all.",
        unit="tokens",
        advanced=False,
        ge=0,
        le=1_000_000,
    )
    top_p: float = setting(
        0.95,
        "Top-p",
        "Nucleus sampling: from the smallest set of tokens with this total probability; 1: from all.",
        advanced=False,
        gt=0,
        le=1,
    )
    min_p: float = setting(
        0.0,
        "Min-p",
        "Only tokens with at least this fraction of the highest probability; 0: all.",
        ge=0,
        le=1,
    )
    repetition_penalty: float = setting(
        1.0,
        "Repetition penalty",
        "Above 1 makes tokens that have occurred less likely, below 1 more likely; 1: off.",
        ge=0.1,
        le=10,
    )
    repetition_window: int = setting(
        0,
        "Penalty window",
        "The repetition penalty looks at this many of the newest tokens; 0: at all that the model sees.",
        unit="tokens",
        ge=0,
        le=1_000_000,
    )
    max_new_tokens: int = setting(
        200,
        "Maximum length",
        "The most new tokens in a reply.",
        unit="tokens",
        advanced=False,
        ge=1,
        le=1_000_000,
    )
    seed: int | None = setting(
        None,
        "Seed",
        "The same seed gives the same reply; without one, each reply is random.",
        empty="random",
        ge=0,
        le=LARGEST_SEED,
    )
    stop: tuple[str, ...] = setting((), "Stop sequences", "A reply ends before any of these.")
    end_prompt: bool = setting(
        False, "End the prompt", "Appends <eos> to the prompt, as the teaching transformer expects."
    )
    weights: WeightsFormat = setting(
        "auto",
        "Weights",
        "Number format of the weights while replies are generated. auto: float32, by the fastest way measured here. "
        "bfloat16: half the memory. int8: a quarter, and the fastest on processors; replies can differ slightly. "
        "A change opens the model again.",
    )

    def with_next_seed(self, number: int) -> "SamplingConfig":
        """The settings of one of several replies to a prompt: the seed goes on by so much, where there is one."""
        if self.seed is None:
            return self
        return self.model_copy(update={"seed": (self.seed + number) % (LARGEST_SEED + 1)})
