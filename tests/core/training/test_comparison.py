"""Two models are compared position by position, padding left out, in chunks or at once."""

import math

import pytest
import torch

from core.config.model import ModelConfig
from core.metrics import kl_divergences, log_softmax
from core.model.transformer import Transformer
from core.training import comparison, loss
from core.training.comparison import compare
from core.training.loss import token_losses

CONFIG = ModelConfig(n_layers=1, n_heads=2, d_model=8, d_ff=16, context_length=6, initial_std=0.5)
X = torch.tensor([[3, 4, 5, 6, 7, 8], [3, 9, 10, 0, 0, 0]])
Y = torch.tensor([[4, 5, 6, 7, 8, 9], [9, 10, 4, -100, -100, -100]])


@pytest.fixture
def models():
    return [Transformer(CONFIG, 11, seed).eval() for seed in (1, 2)]


def by_hand(models):
    """The divergences at the positions that count, one after the other."""
    with torch.no_grad():
        p, q = (log_softmax(model(X).double().numpy())[Y.numpy() >= 0] for model in models)
    pairs = list(zip(p, q, strict=True))
    return sum(kl_divergences(one, two) for one, two in pairs), sum(
        kl_divergences(two, one) for one, two in pairs
    )


@pytest.mark.parametrize("small", [False, True])
def test_divergences_and_losses_equal_a_plain_loop(models, monkeypatch, small):
    if small:  # a few rows at once
        monkeypatch.setattr(loss, "LOGITS_AT_ONCE", 33)
        monkeypatch.setattr(comparison, "NUMBERS_AT_ONCE", 22)
    compared = compare(models, X, Y)
    expected = by_hand(models)
    assert (*compared.kl, *compared.reverse_kl) == pytest.approx(expected, rel=1e-6)
    assert min(expected) > 0.01
    for model, losses in zip(models, compared.losses, strict=True):
        with torch.no_grad():
            assert torch.equal(losses, token_losses(model, X, Y))


def test_a_model_does_not_diverge_from_itself(models):
    compared = compare([models[0], models[0]], X, Y)
    assert (compared.kl, compared.reverse_kl) == ((0.0,), (0.0,))
    assert torch.equal(*compared.losses)


def test_what_one_model_all_but_rules_out_costs_a_finite_amount(models):
    with torch.no_grad():
        for model in models:
            model.head = torch.nn.Linear(8, 11)
            model.head.weight.zero_()
            model.head.bias.zero_()
        models[1].head.bias[4] = -2000.0  # its probability underflows
    compared = compare(models, X, Y)
    each = compared.kl[0] / 9
    assert each == pytest.approx(math.log(10 / 11) + 2000 / 11, rel=1e-6)
