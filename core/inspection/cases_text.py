"""Worked examples about text and tokens."""

import numpy as np

from core.inspection.steps import Grid, WorkedOut, WorkedStep, numbers
from core.tokenizers.char import CharTokenizer


def char_vocabulary() -> WorkedOut:
    """Special tokens, then the printable characters of ASCII."""
    tokenizer = CharTokenizer.train(["".join(map(chr, range(32, 127)))])
    tokens = list(tokenizer.tokens)
    shown = [*range(6), tokens.index("z")]
    rows = tuple((repr(tokens[i]), str(i)) for i in shown)
    line = f"id of '!' = 4 special tokens + place 1 among the characters = {tokens.index('!')}"
    step = WorkedStep(
        "vocabulary",
        "Ids",
        "id = number of special tokens + place of the character",
        (line,),
        Grid(("token", "id"), rows),
    )
    return {"first_ids": {tokens[i]: i for i in range(6)}}, (step,)


def ascii_ids() -> WorkedOut:
    """The code of each character."""
    text = "Hello World"
    ids = [ord(character) for character in text]
    rows = tuple((repr(character), str(token_id)) for character, token_id in zip(text, ids, strict=True))
    line = f"t = [{', '.join(map(str, ids))}]"
    step = WorkedStep("ids", "Ids", "t = T(c)", (f"c = {text!r}", line), Grid(("character", "id"), rows))
    return {"text": text, "expected": ids}, (step,)


def chunking() -> WorkedOut:
    """Windows of a text's tokens."""
    tokens, length, stride, pad = [72, 105, 44, 32, 119, 111, 114, 108, 100], 5, 5, 0
    starts = range(0, len(tokens), stride)
    windows = [tokens[start : start + length] for start in starts]
    padded = [window + [pad] * (length - len(window)) for window in windows]
    lines = [f"tokens = {tokens}"]
    lines += [
        f"window {place}: tokens {start} to {min(start + length, len(tokens)) - 1} = {window}"
        for place, (start, window) in enumerate(zip(starts, padded, strict=True), start=1)
    ]
    note = f"The last window has {padded[-1].count(pad)} token of padding, id {pad}: it does not count in the loss."
    step = WorkedStep(
        "windows", "Windows", "window i = tokens[i·S … i·S + M − 1],  M = 5, S = 5", tuple(lines), note=note
    )
    given = {"tokens": tokens, "max_length": length, "stride": stride, "pad": pad}
    return given | {"expected": padded}, (step,)


def top_p() -> WorkedOut:
    """The likeliest tokens until their sum reaches p."""
    p, probabilities = 0.75, [0.3, 0.2, 0.15, 0.1, 0.05, 0.03]
    sums = np.cumsum(probabilities)
    kept = int(np.searchsorted(sums, p - 1e-9)) + 1
    rows = tuple(
        (
            str(place),
            numbers([probability])[1:-1],
            numbers([total])[1:-1],
            "kept" if place <= kept else "left out",
        )
        for place, (probability, total) in enumerate(zip(probabilities, sums, strict=True), start=1)
    )
    grid = Grid(("rank", "probability", "sum so far", ""), rows)
    note = "The token that crosses the threshold stays in."
    step = WorkedStep(
        "top_p",
        "The smallest set",
        "keep the first k with p₁ + … + p_k ≥ p",
        (f"p = {p:g}: k = {kept}",),
        grid,
        note,
    )
    return {"p": p, "probabilities": probabilities, "kept": kept}, (step,)
