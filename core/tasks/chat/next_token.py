"""The request "what may come next": the scores after a text or a conversation, and what the sampler makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events.base import Task
from core.tasks.chat.reply import Messages
from core.tasks.models.open_documents import look_at_documents
from core.tasks.models.open_model import OpenModel

if TYPE_CHECKING:
    from core.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class NextToken:
    """The model's scores of what comes next, (V,). `history` is what a repetition penalty counts; its end is the reply's.

    `documents` is what follows in the documents, (V,), with its weight, where that was asked for.
    """

    logits: NDArray[np.float32]
    history: tuple[int, ...]
    tokenizer: "Tokenizer"
    n_written: int = 0
    documents: tuple[NDArray[np.float64], float] | None = None


@dataclass(frozen=True, slots=True)
class NextCandidate:
    """A token that may come next. `probability` is the model's own, `final` the one that it is drawn with.

    Of the first, `from_documents` comes from the documents, where they are mixed in.

    `removed_by` is "top-k", "top-p", "min-p", or "greedy" where only the likeliest is taken; "" where it is left.
    """

    token_id: int
    text: str
    probability: float
    final: float
    removed_by: str
    is_penalised: bool
    from_documents: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """The first of the tokens that may come next, the likeliest on top; entropies in bits.

    `removed` counts the tokens that each filter ruled out, by its name; `documents` is the weight of the documents.
    """

    tokens: tuple[NextCandidate, ...]
    vocab_size: int
    left: int
    removed: dict[str, int]
    entropy: float
    final_entropy: float
    documents: float = 0.0


def next_token(
    model: OpenModel,
    prompt: str | Messages,
    sampling: SamplingConfig,
    stop: StopToken,
    written: Sequence[int] = (),
) -> Task[NextToken | None]:
    """Read what stands in front, with the weights that the model has now, and score what comes next.

    Documents that the settings lean on are looked at if they are open, or can be opened at once.

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

    if sampling.documents:
        yield from look_at_documents(model, stop)
    loaded, mixture = model.loaded, model.documents if sampling.documents else None
    if isinstance(prompt, str):
        ids, system = completion_prompt(loaded.tokenizer, prompt, sampling.end_prompt), []
    else:
        ids, system = dialogue_prompt(loaded.tokenizer, prompt), system_ids(loaded.tokenizer, prompt)
    row = Row(ids, sampling, context_policy(ids, loaded.tokenizer, system))
    row.resume(written, model.context_length, loaded.model.vocab_size)
    logits = read_to_end(loaded.model, row, model.prefix, stop)
    if logits is None:
        return None
    documents = None if mixture is None else mixture.probs(row.ids)
    return NextToken(logits.cpu().numpy(), tuple(row.history), loaded.tokenizer, len(row.written), documents)


def candidates(found: NextToken, sampling: SamplingConfig, count: int) -> Candidates:
    """The `count` likeliest tokens as the sampler ranks them: without the model, milliseconds where the vocabulary is large.

    Not for a window's thread: torch's parallel operations give each thread that calls them helpers of its own for ever.
    """
    import torch

    from core.generation.documents import mix
    from core.generation.outlook import FILTERS, outlook

    scores, weight = torch.from_numpy(found.logits), 0.0  # (V,)
    shares = torch.zeros_like(scores)  # (V,)
    if sampling.documents and found.documents is not None:
        weight = sampling.documents * found.documents[1]
        scores, shares = mix(scores, torch.from_numpy(found.documents[0]), weight)
    after = outlook(scores, found.history, sampling, count, found.n_written)
    first = after.first
    columns = (after.probs, after.final, after.removed_by, after.seen, shares)
    rows = zip(first.tolist(), *(column[first].tolist() for column in columns), strict=True)
    tokens = tuple(
        NextCandidate(
            token_id, found.tokenizer.readable(token_id), prob, final, FILTERS[removed_by], seen, share
        )
        for token_id, prob, final, removed_by, seen, share in rows
    )
    counts = torch.bincount(after.removed_by, minlength=len(FILTERS)).tolist()
    removed = {name: n for name, n in zip(FILTERS, counts, strict=True) if name and n}
    entropies = after.entropy, after.final_entropy
    return Candidates(tokens, len(found.logits), counts[0], removed, *entropies, documents=weight)
