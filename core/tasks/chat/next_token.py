"""The request "what may come next": the scores after a text or a conversation, and what the sampler makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events.base import at_once
from core.tasks.chat.reply import Messages
from core.tasks.models.open_model import OpenModel

if TYPE_CHECKING:
    from core.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class NextToken:
    """The model's scores of what comes next, (V,). `history` is what a repetition penalty counts; its end is the reply's."""

    logits: NDArray[np.float32]
    history: tuple[int, ...]
    tokenizer: "Tokenizer"
    n_written: int = 0


@dataclass(frozen=True, slots=True)
class NextCandidate:
    """A token that may come next. `probability` is the model's own, `final` the one that it is drawn with.

    `removed_by` is "top-k", "top-p", "min-p", or "greedy" where only the likeliest is taken; "" where it is left.
    """

    token_id: int
    text: str
    probability: float
    final: float
    removed_by: str
    is_penalised: bool


@dataclass(frozen=True, slots=True)
class Candidates:
    """The first of the tokens that may come next, the likeliest on top; entropies in bits.

    `removed` counts the tokens that each filter ruled out, by its name.
    """

    tokens: tuple[NextCandidate, ...]
    vocab_size: int
    left: int
    removed: dict[str, int]
    entropy: float
    final_entropy: float


@at_once
def next_token(
    model: OpenModel,
    prompt: str | Messages,
    sampling: SamplingConfig,
    stop: StopToken,
    written: Sequence[int] = (),
) -> NextToken | None:
    """Read what stands in front, with the weights that the model has now, and score what comes next.

    Args:
        prompt: A text to be continued, or a conversation whose last message is to be answered.
        written: Tokens with which the reply begins already.

    Returns:
        None where `stop` was set.
    """
    from core.generation.decoding import read_to_end
    from core.generation.dialogue import completion_prompt, dialogue_prompt, system_ids
    from core.generation.row import Row
    from core.generation.writing import context_policy

    loaded = model.loaded
    if isinstance(prompt, str):
        ids, system = completion_prompt(loaded.tokenizer, prompt, sampling.end_prompt), []
    else:
        ids, system = dialogue_prompt(loaded.tokenizer, prompt), system_ids(loaded.tokenizer, prompt)
    row = Row(ids, sampling, context_policy(ids, loaded.tokenizer, system))
    row.resume(written, model.context_length, loaded.model.vocab_size)
    logits = read_to_end(loaded.model, row, model.prefix, stop)
    if logits is None:
        return None
    return NextToken(logits.cpu().numpy(), tuple(row.history), loaded.tokenizer, len(row.written))


def candidates(found: NextToken, sampling: SamplingConfig, count: int) -> Candidates:
    """The `count` likeliest tokens as the sampler ranks them: without the model, milliseconds where the vocabulary is large.

    Not for a window's thread: torch's parallel operations give each thread that calls them helpers of its own for ever.
    """
    import torch

    from core.generation.outlook import FILTERS, outlook

    after = outlook(torch.from_numpy(found.logits), found.history, sampling, count, found.n_written)
    first = after.first
    columns = (after.probs, after.final, after.removed_by, after.seen)
    rows = zip(first.tolist(), *(column[first].tolist() for column in columns), strict=True)
    tokens = tuple(
        NextCandidate(token_id, found.tokenizer.readable(token_id), prob, final, FILTERS[removed_by], seen)
        for token_id, prob, final, removed_by, seen in rows
    )
    counts = torch.bincount(after.removed_by, minlength=len(FILTERS)).tolist()
    removed = {name: n for name, n in zip(FILTERS, counts, strict=True) if name and n}
    return Candidates(tokens, len(found.logits), counts[0], removed, after.entropy, after.final_entropy)
