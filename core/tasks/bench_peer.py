"""The peer of the benchmarks and of the tests: `transformers`' GPT-2, with our weights in it.

Only shapes of GPT-2's kind have a twin there: pre-norm, learned positions, biases everywhere but in the head.
"""

from typing import Any

from core.config.model import ModelConfig
from core.model.transformer import Transformer
from core.tasks.bench_errors import MissingPeerError

LINEAR = {
    "attention.qkv_proj": "attn.c_attn",
    "attention.out_proj": "attn.c_proj",
    "feed_forward.up_proj": "mlp.c_fc",
    "feed_forward.down_proj": "mlp.c_proj",
}
NORMS = {"norm_1": "ln_1", "norm_2": "ln_2"}
OUTSIDE = {
    "token_embedding": "transformer.wte",
    "position_embedding": "transformer.wpe",
    "final_norm": "transformer.ln_f",
    "head": "lm_head",
}


def make_peer(config: ModelConfig, vocab_size: int) -> Any:
    """A GPT2LMHeadModel of this shape with random weights, in evaluation mode.

    Raises:
        MissingPeerError: transformers is not installed.
    """
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError as cause:
        raise MissingPeerError("transformers") from cause
    shape = GPT2Config(
        vocab_size=vocab_size,
        n_positions=config.context_length,
        n_embd=config.d_model,
        n_layer=config.n_layers,
        n_head=config.n_heads,
        n_inner=config.d_ff,
        activation_function={"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}[config.activation],
        layer_norm_epsilon=config.norm_epsilon,
        resid_pdrop=config.dropout,
        embd_pdrop=config.dropout,
        attn_pdrop=config.dropout,
        bos_token_id=None,
        eos_token_id=None,  # a benchmark's reply must not end early
    )
    peer: Any = GPT2LMHeadModel(shape)
    return peer.eval()


def copy_weights(ours: Transformer, peer: Any) -> None:
    """Give the peer our weights. Its four projections are stored (in, out), the transpose of `nn.Linear`."""
    import torch

    twins = peer.state_dict()
    with torch.no_grad():
        for name, tensor in ours.state_dict().items():
            twin, transposed = peer_name(name)
            twins[twin].copy_(tensor.T if transposed else tensor)


def peer_name(name: str) -> tuple[str, bool]:
    """What one of our tensors is called there, and whether it is transposed."""
    module, _, kind = name.rpartition(".")
    if module in OUTSIDE:
        return f"{OUTSIDE[module]}.{kind}", False
    _, layer, inner = module.split(".", 2)
    if inner in NORMS:
        return f"transformer.h.{layer}.{NORMS[inner]}.{kind}", False
    return f"transformer.h.{layer}.{LINEAR[inner]}.{kind}", kind == "weight"
