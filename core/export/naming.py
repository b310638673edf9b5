"""What our tensors are called in other programs' files, and which of our models have a twin there."""

from typing import NamedTuple

from core.config.model import ModelConfig

GPT2_LAYERS = {
    "attention.qkv_proj": "attn.c_attn",
    "attention.out_proj": "attn.c_proj",
    "feed_forward.up_proj": "mlp.c_fc",
    "feed_forward.down_proj": "mlp.c_proj",
    "norm_1": "ln_1",
    "norm_2": "ln_2",
}
GPT2_MODULES = {
    "token_embedding": "transformer.wte",
    "position_embedding": "transformer.wpe",
    "final_norm": "transformer.ln_f",
    "head": "lm_head",
}
QWEN3_LAYERS = {  # what stands one above the other in one matrix of ours, and in one each there
    "attention.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.q_norm": ("self_attn.q_norm",),
    "attention.k_norm": ("self_attn.k_norm",),
    "attention.out_proj": ("self_attn.o_proj",),
    "feed_forward.gate_proj": ("mlp.gate_proj",),
    "feed_forward.up_proj": ("mlp.up_proj",),
    "feed_forward.down_proj": ("mlp.down_proj",),
    "norm_1": ("input_layernorm",),
    "norm_2": ("post_attention_layernorm",),
}
QWEN3_MODULES = {
    "token_embedding": "model.embed_tokens",
    "final_norm": "model.norm",
    "head": "lm_head",
}


class TensorName(NamedTuple):
    """A tensor's name in another format, and whether it is stored transposed there."""

    name: str
    is_transposed: bool


def gpt2_name(name: str) -> TensorName:
    """What a tensor of ours is called in Hugging Face's GPT-2, which stores its four projections as (in, out).

    Args:
        name: As in `Transformer.state_dict()`.
    """
    module, _, kind = name.rpartition(".")
    if module in GPT2_MODULES:
        return TensorName(f"{GPT2_MODULES[module]}.{kind}", False)
    _, layer, inner = module.split(".", 2)
    is_projection = not inner.startswith("norm_")
    return TensorName(
        f"transformer.h.{layer}.{GPT2_LAYERS[inner]}.{kind}", is_projection and kind == "weight"
    )


def qwen3_names(name: str) -> tuple[str, ...]:
    """What a tensor of ours is called in Hugging Face's Qwen3 and Llama: several names where it is cut into as many parts.

    Args:
        name: As in `Transformer.state_dict()`.
    """
    module, _, kind = name.rpartition(".")
    if module in QWEN3_MODULES:
        return (f"{QWEN3_MODULES[module]}.{kind}",)
    _, layer, inner = module.split(".", 2)
    return tuple(f"model.layers.{layer}.{there}.{kind}" for there in QWEN3_LAYERS[inner])


def has_gpt2_twin(config: ModelConfig) -> bool:
    """Whether GPT-2 computes what this model does; a bias that it lacks is 0 there, a sinusoidal table its `wpe`."""
    return (
        _has_usual_parts(config)
        and config.norm_type == "layer_norm"
        and not config.qk_norm
        and config.positions in ("learned", "sinusoidal")
        and config.qkv_rows == (config.d_model,) * 3
        and config.attention_bias == config.has_qkv_bias
        and config.activation in ("gelu", "gelu_tanh", "relu")
    )


def has_qwen3_twin(config: ModelConfig) -> bool:
    """Whether Qwen3 computes what this model does."""
    return (
        _has_usual_parts(config)
        and config.attention_bias == config.has_qkv_bias
        and config.norm_type == "rms_norm"
        and config.qk_norm
        and config.positions == "rotary"
        and config.activation == "swiglu"
        and not config.feed_forward_bias
    )


def has_llama_twin(config: ModelConfig) -> bool:
    """Whether Llama computes what this model does: Qwen3 without the norm of queries and keys, and with biases if need be."""
    plain = {"qk_norm": True, "feed_forward_bias": False}
    return not config.qk_norm and has_qwen3_twin(config.model_copy(update=plain))


def has_qwen2_twin(config: ModelConfig) -> bool:
    """Whether Qwen2 computes what this model does: Llama with biases on queries, keys and values alone."""
    return (
        config.has_qkv_bias
        and not config.attention_bias
        and not config.feed_forward_bias
        and has_llama_twin(config.model_copy(update={"qkv_bias": False}))
    )


def _has_usual_parts(config: ModelConfig) -> bool:
    return (
        config.norm == "pre"
        and config.feed_forward
        and config.output_projection
        and not config.head_bias
        and not config.scale_embeddings
    )
