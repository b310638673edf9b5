"""What the user chooses about the transformer: every option that the reference documents name."""

from typing import Literal, Self

from pydantic import model_validator

from core.config.setting import Config, setting

MOST_HEADS = 256


class ModelConfig(Config):
    """The shape of a decoder-only transformer. The vocabulary is the tokenizer's."""

    n_layers: int = setting(
        4,
        "Layers",
        "Number of transformer blocks.",
        ge=1,
        le=200,
    )
    n_heads: int = setting(
        4, "Heads", "Attention heads per layer; the width must be a multiple of them.", ge=1, le=MOST_HEADS
    )
    d_model: int = setting(
        256,
        "Width",
        "Embedding size: the length of each token's vector (d_model).",
        unit="dimensions",
        ge=1,
        le=32768,
    )
    d_ff: int = setting(
        1024,
        "Feed-forward width",
        "Hidden size of the feed-forward layers, usually four times the width, or 8/3 of it with SwiGLU, which has a third "
        "matrix. Changing only the width keeps the ratio.",
        unit="dimensions",
        ge=1,
        le=131072,
    )
    context_length: int = setting(
        128,
        "Context",
        "The most tokens that the model attends to.",
        unit="tokens",
        ge=2,
        le=131072,
    )
    dropout: float = setting(
        0.0,
        "Dropout",
        "Probability of zeroing an activation in training, against overfitting.",
        ge=0,
        lt=1,
    )
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = setting(
        "sinusoidal", "Positions", "How a token's position is encoded."
    )
    position_base: float = setting(
        10000.0, "Position base", "Base of the wavelengths of sinusoidal and rotary positions.", gt=1, le=1e9
    )
    norm: Literal["pre", "post", "none"] = setting(
        "pre",
        "Norm",
        "Before each sub-layer (pre), after its residual addition (post), or nowhere (none).",
    )
    norm_type: Literal["layer_norm", "rms_norm"] = setting(
        "layer_norm",
        "Norm type",
        "Layer norm subtracts the mean and has a bias; RMS norm only divides by the root mean square.",
        titles=("Layer norm", "RMS norm"),
    )
    qk_norm: bool = setting(
        False, "Query-key norm", "RMS norm of each head's queries and keys, before they are rotated."
    )
    norm_epsilon: float = setting(
        1e-5,
        "Norm epsilon",
        "Added to the variance, or to the mean square, before the square root.",
        gt=0,
        le=0.1,
    )
    activation: Literal["gelu", "gelu_tanh", "relu", "relu_squared", "swiglu"] = setting(
        "gelu",
        "Activation",
        "Activation of the feed-forward layers: exact GELU, its tanh approximation, ReLU, squared ReLU, or SwiGLU, in which "
        "SiLU of one projection multiplies another.",
        titles=("GELU", "GELU (tanh)", "ReLU", "Squared ReLU", "SwiGLU"),
    )
    feed_forward: bool = setting(True, "Feed-forward layers", "Off: blocks consist of attention only.")
    output_projection: bool = setting(
        True, "Output projection", "Linear layer (W_O) after the heads are concatenated."
    )
    attention_bias: bool = setting(False, "Attention bias", "Bias terms in the attention projections.")
    feed_forward_bias: bool = setting(True, "Feed-forward bias", "Bias terms in the feed-forward layers.")
    head_bias: bool = setting(False, "Head bias", "Bias term on the logits.")
    tied_embeddings: bool = setting(
        True, "Tied embeddings", "The output head shares the token embedding's weights."
    )
    scale_embeddings: bool = setting(
        False,
        "Scale embeddings",
        "Multiplies token embeddings by sqrt(width), so that sinusoidal positions do not outweigh them.",
    )
    initialisation: Literal["normal", "kaiming", "xavier"] = setting(
        "normal", "Initialisation", "How weight matrices are initialised."
    )
    initial_std: float = setting(
        0.02, "Initial std", "Standard deviation of the normal initialisation.", gt=0, le=10
    )
    embedding_std: float = setting(
        0.02, "Embedding std", "Standard deviation of the initial embeddings.", gt=0, le=10
    )
    scale_residual: bool = setting(
        False,
        "Scale residuals",
        "Divides the initial std of residual projections by sqrt(2 x layers), as GPT-2 does.",
    )
    zero_init_residual: bool = setting(
        False,
        "Zero-init residuals",
        "Residual projections start at zero, so that each block begins as identity.",
    )

    @model_validator(mode="after")
    def _shapes_fit(self) -> Self:
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model: {self.d_model} must be a multiple of n_heads, {self.n_heads}")
        if self.positions == "rotary" and (self.d_model // self.n_heads) % 2:
            raise ValueError("d_model: rotary positions need an even number of dimensions per head")
        return self


def d_ff_beside(model: ModelConfig, d_model: int) -> int:
    """The feed-forward width that goes with another width: in the model's own proportion to it."""
    return max(1, round(model.d_ff * d_model / model.d_model))


def heads_beside(model: ModelConfig, d_model: int) -> int:
    """The heads that go with another width: about as wide as the model's own, and of an even number of dimensions.

    The model's own number where no such heads make up the width.
    """
    wish = model.n_heads * d_model / model.d_model
    fitting = [heads for heads in range(1, MOST_HEADS + 1) if d_model % (2 * heads) == 0]
    return min(fitting, key=lambda heads: abs(heads - wish), default=model.n_heads)


def count_parameters(model: ModelConfig, vocab_size: int) -> int:
    """The number of weights that training changes, tied ones counted once. Nothing is built."""
    C, F = model.d_model, model.d_ff
    norm = 0 if model.norm == "none" else C * (2 if model.norm_type == "layer_norm" else 1)
    attention = 3 * C * C + model.output_projection * C * C
    attention += model.attention_bias * (3 * C + model.output_projection * C)
    attention += model.qk_norm * 2 * (C // model.n_heads)
    widening = 2 if model.activation == "swiglu" else 1
    feed_forward = model.feed_forward * (
        (widening + 1) * C * F + model.feed_forward_bias * (widening * F + C)
    )
    block = attention + feed_forward + (1 + model.feed_forward) * norm
    embeddings = vocab_size * C + (model.positions == "learned") * model.context_length * C
    head = (not model.tied_embeddings) * vocab_size * C + model.head_bias * vocab_size
    return model.n_layers * block + embeddings + head + (model.norm == "pre") * norm
