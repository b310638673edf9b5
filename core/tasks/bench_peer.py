"""The peer of the benchmarks and of the tests: `transformers`' GPT-2, with our weights in it.

Only shapes of GPT-2's kind have a twin there: pre-norm, learned positions, biases everywhere but in the head.
"""

from typing import Any

from core.config.model import ModelConfig
from core.export.naming import gpt2_name
from core.model.transformer import Transformer
from core.tasks.bench_errors import MissingPeerError


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
            twin = gpt2_name(name)
            twins[twin.name].copy_(tensor.T if twin.is_transposed else tensor)
