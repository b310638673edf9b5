import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from core.config.model import ModelConfig, count_parameters
from core.config.presets import PRESETS
from core.model.transformer import Transformer

SWITCHES = [
    "feed_forward",
    "output_projection",
    "attention_bias",
    "feed_forward_bias",
    "head_bias",
    "tied_embeddings",
    "qk_norm",
]
OPTIONS = st.fixed_dictionaries(
    {name: st.booleans() for name in SWITCHES}
    | {
        "n_layers": st.integers(1, 3),
        "d_model": st.sampled_from([4, 8, 12]),
        "d_ff": st.integers(1, 9),
        "context_length": st.integers(2, 7),
        "norm": st.sampled_from(["pre", "post", "none"]),
        "norm_type": st.sampled_from(["layer_norm", "rms_norm"]),
        "activation": st.sampled_from(["gelu", "relu_squared", "swiglu"]),
        "positions": st.sampled_from(["sinusoidal", "learned", "rotary", "none"]),
    }
)


def built(config, vocab_size):
    with torch.device("meta"):  # shapes without memory
        model = Transformer(config, vocab_size)
    return sum(parameter.numel() for parameter in model.parameters())


@settings(max_examples=60, deadline=None)
@given(OPTIONS, st.integers(1, 30))
def test_the_count_is_that_of_the_model_for_every_combination_of_options(options, vocab_size):
    config = ModelConfig(n_heads=2, **options)
    assert count_parameters(config, vocab_size) == built(config, vocab_size)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_count_is_that_of_every_presets_model(preset):
    run = PRESETS[preset].run
    assert count_parameters(run.model, run.tokenizer.vocab_size) == built(run.model, run.tokenizer.vocab_size)


def test_gpt2_has_124_million_parameters():
    assert count_parameters(PRESETS["gpt2"].run.model, 50_257) == 124_439_808


def test_heads_divide_the_width():
    with pytest.raises(ValidationError, match="d_model: 10 must be a multiple of n_heads, 4"):
        ModelConfig(d_model=10, n_heads=4)


def test_rotary_positions_turn_pairs():
    with pytest.raises(ValidationError, match="even number of dimensions per head"):
        ModelConfig(d_model=6, n_heads=2, positions="rotary")
