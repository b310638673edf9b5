"""Worked examples about the loss and the steps of training."""

import math

import numpy as np

from core.inspection.steps import WorkedOut, WorkedStep, factor, number, numbers
from core.metrics import cross_entropy, perplexity

DIGITS = 10
IGNORED = -100  # the label of padding


def cross_entropy_of() -> WorkedOut:
    """Of a prediction that gives the right class 0.8."""
    q = 0.8
    loss = cross_entropy([1, 0], [q, 1 - q])
    line = f"H = −(1 · ln {q} + 0 · ln {1 - q:.1f}) = −ln {q} = {number(loss, DIGITS)} nats"
    return {"q_of_true_class": q, "expected": loss}, (
        WorkedStep("loss", "Cross-entropy", "H(p, q) = −Σ pᵢ ln qᵢ", (line,)),
    )


def masked_cross_entropy() -> WorkedOut:
    """Which labels count."""
    labels = [[72, 105, IGNORED], [44, 32, 119]]
    counted = sum(label != IGNORED for row in labels for label in row)
    lines = [
        f"row {place}: {row}, {sum(label != IGNORED for label in row)} count"
        for place, row in enumerate(labels, start=1)
    ]
    lines.append(f"loss = −1/{counted} · (sum of {counted} log-probabilities)")
    step = WorkedStep(
        "loss",
        "The tokens that count",
        "loss = −1/n · Σ ln p(yᵢ) over the n labels that are not −100",
        tuple(lines),
    )
    return {"labels": labels, "counted_tokens": counted}, (step,)


def perplexity_of() -> WorkedOut:
    """Of a loss of 2 nats."""
    loss = 2.0
    line = f"e^{loss:g} = {number(perplexity(loss), 11)}"
    return {"loss": loss, "expected": perplexity(loss)}, (
        WorkedStep("perplexity", "Perplexity", "PPL = e^loss", (line,)),
    )


def gradient_clipping() -> WorkedOut:
    """Scaled down to a norm of 1."""
    g, most = [0.5, 0.8, 1.2], 1.0
    norm = float(np.linalg.norm(g))
    clipped = (np.asarray(g) * min(1.0, most / norm)).tolist()
    squares = " + ".join(f"{value}²" for value in g)
    steps = (
        WorkedStep("norm", "Norm", "‖g‖ = √Σ gᵢ²", (f"√({squares}) = {number(norm, 11)}",)),
        WorkedStep("clip", "Clipping", "g · min(1, c / ‖g‖)", (
            f"{most:g} / {number(norm, 11)} = {number(most / norm, DIGITS)}",
            f"{numbers(g)} · {number(most / norm, DIGITS)} = {numbers(clipped, DIGITS)}",
        )),
    )  # fmt: skip
    return {"g": g, "max_norm": most, "norm": norm, "expected": clipped}, steps


def adamw() -> WorkedOut:
    """Two steps of one parameter."""
    theta, lr, (beta1, beta2), decay, eps = 0.5, 0.001, (0.9, 0.999), 0.01, 1e-8
    gradients = [0.3, -0.2]
    given: dict[str, object] = {
        "theta": theta,
        "lr": lr,
        "betas": [beta1, beta2],
        "weight_decay": decay,
        "eps": eps,
    }
    m = v = 0.0
    thetas, steps = [], []
    for t, g in enumerate(gradients, start=1):
        new_m, new_v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        m_hat, v_hat = new_m / (1 - beta1**t), new_v / (1 - beta2**t)
        new_theta = theta - lr * (m_hat / (math.sqrt(v_hat) + eps) + decay * theta)
        lines = (
            f"g = {number(g)}",
            f"m = {beta1} · {factor(m, DIGITS)} + {1 - beta1:.1f} · {factor(g)} = {number(new_m, DIGITS)}",
            f"v = {beta2} · {factor(v, DIGITS)} + {1 - beta2:.3f} · {factor(g)}² = {number(new_v, DIGITS)}",
            f"m̂ = {number(new_m, DIGITS)} / (1 − {beta1}^{t}) = {number(m_hat, DIGITS)}",
            f"v̂ = {number(new_v, DIGITS)} / (1 − {beta2}^{t}) = {number(v_hat, DIGITS)}",
            f"θ = {number(theta, DIGITS)} − {lr} · ({factor(m_hat, DIGITS)} / (√{number(v_hat, DIGITS)} + {number(eps)}) + "
            f"{decay} · {number(theta, DIGITS)}) = {number(new_theta, DIGITS)}",
        )
        formula = "θ ← θ − η · (m̂ / (√v̂ + ε) + λ θ)"
        steps.append(WorkedStep(f"step_{t}", f"Step {t}", formula, lines))
        m, v, theta = new_m, new_v, new_theta
        thetas.append(theta)
    return given | {"gradients": gradients, "expected_theta": thetas}, tuple(steps)


def cosine_schedule() -> WorkedOut:
    """From the highest to the lowest learning rate along half a cosine."""
    highest, lowest, last, at = 0.001, 0.0, 10_000, [0, 2_500, 5_000, 7_500, 10_000]
    rates = [lowest + (highest - lowest) * (1 + math.cos(math.pi * t / last)) / 2 for t in at]
    lines = tuple(
        f"t = {t:,}: {lowest:g} + ({highest:g} − {lowest:g}) · (1 + cos(π · {t:,} / {last:,})) / 2 = {number(rate, DIGITS)}"
        for t, rate in zip(at, rates, strict=True)
    )
    formula = "ηₜ = η_min + (η_max − η_min) · (1 + cos(π t / T)) / 2"
    given: dict[str, object] = {"lr_max": highest, "lr_min": lowest, "t_max": last, "t": at}
    return given | {"expected": rates}, (WorkedStep("schedule", "Learning rate", formula, lines),)
