"""What our tensors are called in other programs' files."""

from typing import NamedTuple

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
