import pytest
import torch

from core.config.model import ModelConfig
from core.model.block import Block, FeedForward

X = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(5)) * 3 + 1


def make_block(**options):
    torch.manual_seed(0)
    block = Block(ModelConfig(**{"n_heads": 2, "d_model": 8, "d_ff": 20} | options)).eval()
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.normal_(0, 0.5)
    return block


def test_squared_relu_squares_what_is_above_zero():
    feed_forward = make_block(activation="relu_squared", feed_forward_bias=False).feed_forward
    by_hand = (X @ feed_forward.up_proj.weight.T).clamp(min=0) ** 2 @ feed_forward.down_proj.weight.T
    assert torch.allclose(feed_forward(X), by_hand, atol=1e-4)


def test_swiglu_multiplies_one_projection_by_silu_of_another():
    feed_forward = make_block(activation="swiglu", feed_forward_bias=False).feed_forward
    gate, up = X @ feed_forward.gate_proj.weight.T, X @ feed_forward.up_proj.weight.T
    by_hand = (gate * torch.sigmoid(gate) * up) @ feed_forward.down_proj.weight.T
    assert torch.allclose(feed_forward(X), by_hand, atol=1e-4)


def test_pre_norm_adds_what_each_part_makes_of_the_normalised_input():
    block = make_block(norm="pre")
    middle = X + block.attention(block.norm_1(X))
    assert torch.allclose(block(X), middle + block.feed_forward(block.norm_2(middle)))


def test_post_norm_normalises_each_sum():
    block = make_block(norm="post")
    middle = block.norm_1(X + block.attention(X))
    assert torch.allclose(block(X), block.norm_2(middle + block.feed_forward(middle)))


def test_without_norms_each_part_is_simply_added():
    block = make_block(norm="none")
    middle = X + block.attention(X)
    assert torch.allclose(block(X), middle + block.feed_forward(middle))


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_without_the_feed_forward_part_attention_is_all(norm):
    block = make_block(norm=norm, feed_forward=False)
    by_hand = {
        "pre": X + block.attention(block.norm_1(X)),
        "post": block.norm_1(X + block.attention(X)),
        "none": X + block.attention(X),
    }
    assert torch.allclose(block(X), by_hand[norm])
    assert not any("norm_2" in name or "feed" in name for name, _ in block.named_parameters())


def test_a_fresh_post_norm_gives_every_position_mean_0_and_variance_1():
    torch.manual_seed(0)
    out = Block(ModelConfig(n_heads=2, d_model=8, d_ff=20, norm="post"))(X)
    assert torch.allclose(out.mean(-1), torch.zeros(2, 3), atol=1e-5)
    assert torch.allclose(out.var(-1, unbiased=False), torch.ones(2, 3), atol=1e-3)


@pytest.mark.parametrize(
    ("activation", "at_minus_one"), [("gelu", -0.158655), ("gelu_tanh", -0.158808), ("relu", 0.0)]
)
def test_each_activation_bends_as_its_name_says(activation, at_minus_one):
    feed_forward = FeedForward(ModelConfig(activation=activation))
    hidden = feed_forward.activation(torch.tensor([-1.0, 0.0]))
    assert hidden.tolist() == pytest.approx([at_minus_one, 0.0], abs=1e-6)


def test_the_feed_forward_biases_can_be_left_out():
    names = [name for name, _ in FeedForward(ModelConfig(feed_forward_bias=False)).named_parameters()]
    assert names == ["up_proj.weight", "down_proj.weight"]


def test_the_feed_forward_part_drops_some_of_what_it_widened():
    feed_forward = make_block(dropout=0.5).feed_forward
    still = feed_forward(X)
    assert torch.equal(still, feed_forward(X))
    assert not torch.equal(still, feed_forward.train()(X))


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_dropout_is_active_only_in_training(norm):
    block = make_block(norm=norm, dropout=0.5)
    assert torch.equal(block(X), block(X))
    block.train()
    assert not torch.equal(block(X), block(X))


def test_a_norm_epsilon_is_taken_over():
    block = make_block(norm_epsilon=1e-3)
    assert (block.norm_1.eps, block.norm_2.eps) == (1e-3, 1e-3)
