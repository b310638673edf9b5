"""Worked examples about what the model computes."""

import math
from collections.abc import Sequence

import numpy as np

from core.config.model import ModelConfig, count_parameters
from core.inspection.steps import Grid, WorkedOut, WorkedStep, addends, factor, number, numbers, products
from core.metrics import softmax

DIGITS = 10
WIDTH, BASE = 512, 10_000


def sinusoidal_position(pos: int, dimension: int, document_says: Sequence[float] = ()) -> WorkedOut:
    """The sine and cosine of one angle."""
    angle = pos / BASE ** (dimension / WIDTH)
    expected = [math.sin(angle), math.cos(angle)]
    lines = (
        f"angle = {pos} / {BASE:,}^({dimension}/{WIDTH}) = {number(angle, DIGITS)}",
        f"PE[{pos}, {dimension}] = sin({number(angle, DIGITS)}) = {number(expected[0], DIGITS)}",
        f"PE[{pos}, {dimension + 1}] = cos({number(angle, DIGITS)}) = {number(expected[1], DIGITS)}",
    )
    formula = "PE[pos, 2i] = sin(pos / 10000^(2i/d)),  PE[pos, 2i + 1] = cos(pos / 10000^(2i/d))"
    given: dict[str, object] = {
        "d_model": WIDTH,
        "pos": pos,
        "dims": [dimension, dimension + 1],
        "expected": expected,
    }
    if document_says:
        given["document_says"] = list(document_says)
    return given, (WorkedStep("position", "Sine and cosine", formula, lines),)


def wavelengths() -> WorkedOut:
    """After how many positions pairs of dimensions come round again."""
    pairs = [0, 64, 128, 256]
    lengths = [2 * math.pi * BASE ** (2 * i / WIDTH) for i in pairs]
    lines = tuple(
        f"i = {i}: 2π · {BASE:,}^({2 * i}/{WIDTH}) = {number(length, 12)} positions"
        for i, length in zip(pairs, lengths, strict=True)
    )
    return {"d_model": WIDTH, "i": pairs, "expected": lengths}, (
        WorkedStep("wavelengths", "Wavelengths", "λᵢ = 2π · 10000^(2i/d)", lines),
    )


def score_scaling() -> WorkedOut:
    """A query times a key, over the root of a head's width."""
    q, k, width = [0.2, -0.1, 0.3], [0.1, 0.2, -0.1], 64
    dot = float(np.dot(q, k))
    score = dot / math.sqrt(width)
    lines = (
        f"q · k = {products(q, k, DIGITS)} = {number(dot, DIGITS)}",
        f"s = {number(dot, DIGITS)} / √{width} = {number(dot, DIGITS)} / {number(math.sqrt(width))} = {number(score, DIGITS)}",
    )
    return {"q": q, "k": k, "d_k": width, "expected": score}, (
        WorkedStep("score", "Score", "s = q · k / √d_k", lines),
    )


def softmax_of(scores: Sequence[float], document_says: Sequence[float] = ()) -> WorkedOut:
    """Probabilities of scores."""
    probabilities = softmax(scores)
    given: dict[str, object] = {"scores": list(scores), "expected": probabilities.tolist()}
    if document_says:
        given["document_says"] = list(document_says)
    return given, (_softmax_step("softmax", "Softmax", np.asarray(scores, dtype=np.float64)),)


def _softmax_step(key: str, title: str, scores: np.ndarray) -> WorkedStep:
    exponentials, probabilities = np.exp(scores), softmax(scores)
    total = float(exponentials[np.isfinite(scores)].sum())
    rows = tuple(
        (
            number(s, DIGITS),
            number(e, DIGITS),
            f"{number(e, DIGITS)} / {number(total, DIGITS)} = {number(p, DIGITS)}",
        )
        for s, e, p in zip(scores, exponentials, probabilities, strict=True)
    )
    lines = (f"Σ = {addends(exponentials, DIGITS)} = {number(total, DIGITS)}",)
    values = {"scores": scores, "weights": probabilities}
    return WorkedStep(key, title, "aᵢ = e^sᵢ / Σⱼ e^sⱼ", lines, Grid(("s", "e^s", "a"), rows), values=values)


def causal_softmax() -> WorkedOut:
    """Three rows of scores, each position seeing itself and those before it."""
    scores = np.array([[0.2, 0.1, 0.3], [0.1, 0.4, 0.2], [0.3, 0.2, 0.5]])
    masked = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
    mask_lines = tuple(f"row {row + 1}: {numbers(masked[row], DIGITS)}" for row in range(3))
    steps = [
        WorkedStep(
            "mask", "Causal mask", "S + M,  M = 0 for earlier keys and itself, −∞ for later ones", mask_lines
        )
    ]
    steps += [_softmax_step(f"row_{row + 1}", f"Softmax of row {row + 1}", masked[row]) for row in range(3)]
    given: dict[str, object] = {"scores": scores.tolist(), "expected": softmax(masked).tolist()}
    return given | {"document_says_row_2": [0.268, 0.263, 0.469]}, tuple(steps)


def layer_norm(x: Sequence[float], eps: float, document_says_variance: float = 0.0) -> WorkedOut:
    """Mean, variance over all entries, and the normalised numbers."""
    values = np.asarray(x, dtype=np.float64)
    mean, variance = float(values.mean()), float(values.var())
    normed = (values - mean) / math.sqrt(variance + eps)
    squares = " + ".join(f"({number(value)} − {number(mean, DIGITS)})²" for value in x)
    root = f"√({number(variance, DIGITS)} + {number(eps)})"
    lines = (
        f"μ = ({addends(x)}) / {len(x)} = {number(mean, 12)}",
        f"σ² = ({squares}) / {len(x)} = {number(variance, 13)}",
        *(
            f"({number(value)} − {factor(mean, DIGITS)}) / {root} = {number(y, DIGITS)}"
            for value, y in zip(x, normed, strict=True)
        ),
    )
    given: dict[str, object] = {
        "x": list(x),
        "eps": eps,
        "mean": mean,
        "variance": variance,
        "expected": normed.tolist(),
    }
    if document_says_variance:
        given["document_says_variance"] = document_says_variance
    return given, (WorkedStep("layer_norm", "Layer norm", "y = (x − μ) / √(σ² + ε)", lines),)


def gelu() -> WorkedOut:
    """Exact, and approximated."""
    x = 0.021
    exact = x * (1 + math.erf(x / math.sqrt(2))) / 2
    cube = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    tanh = x * (1 + math.tanh(cube)) / 2
    erf = math.erf(x / math.sqrt(2))
    steps = (
        WorkedStep("exact", "Exact", "GELU(x) = x · (1 + erf(x / √2)) / 2", (
            f"erf({x} / √2) = {number(erf, DIGITS)}",
            f"{x} · (1 + {number(erf, DIGITS)}) / 2 = {number(exact, 11)}",
        )),
        WorkedStep("tanh", "Tanh approximation", "GELU(x) ≈ x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2", (
            f"tanh({number(cube, DIGITS)}) = {number(math.tanh(cube), DIGITS)}",
            f"{x} · (1 + {number(math.tanh(cube), DIGITS)}) / 2 = {number(tanh, 11)}",
        )),
    )  # fmt: skip
    return {"x": x, "exact": exact, "tanh": tanh}, steps


def parameter_count() -> WorkedOut:
    """Of GPT-2 small, weights only."""
    layers, width, vocabulary = 12, 768, 50_000
    weights_only = ModelConfig(
        n_layers=layers, n_heads=12, d_model=width, d_ff=4 * width, norm="none", positions="none", feed_forward_bias=False
    )  # fmt: skip
    blocks, tied = count_parameters(weights_only, 0), count_parameters(weights_only, vocabulary)
    embedding = vocabulary * width
    lines = (
        f"one block: 4·{width}² + 2·{width}·{4 * width:,} = 12·{width}² = {12 * width**2:,}",
        f"all blocks: {layers} · {12 * width**2:,} = {blocks:,}",
        f"embedding: {vocabulary:,} · {width} = {embedding:,}",
        f"together: {blocks:,} + {embedding:,} = {tied:,}",
        f"with the embedding counted twice: {tied + embedding:,}",
    )
    given: dict[str, object] = {
        "layers": layers,
        "d_model": width,
        "vocabulary": vocabulary,
        "block_weights": blocks,
    }
    step = WorkedStep("parameters", "Weights", "P = L · (4 d² + 2 d · d_ff) + V · d", lines)
    return given | {"embedding_weights": embedding, "expected_tied": tied}, (step,)
