"""The request for prompts that a run's model can do something with: questions of its text, or how its texts begin."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.batches.dataset import read_dataset
from core.control import StopToken
from core.errors.base import DamagedDatasetError
from core.events.base import at_once
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.runs.pointers import pointed_step, state_or_none
from core.sample.meadow import held_out_questions
from core.tokenizers.files import load_tokenizer
from core.tokenizers.tokenizer import EOS, Tokenizer

COUNT = 3
SHORTEST, LONGEST = 6, 60  # characters
BEGINNING_WORDS = 5
READ_TOKENS = 200_000  # of the text, from its beginning
TURN_TOKENS = 64


@at_once
def suggest_prompts(workspace: Workspace, name: str, stop: StopToken) -> tuple[str, ...]:
    """Up to three prompts: of the sample, questions that were held out; else of the text the run was trained on.

    Raises:
        UnknownRunError: There is no such run.
        DamagedRunError: Its settings cannot be read.
    """
    catalog = Catalog(workspace)
    run = catalog.folder(name)
    if catalog.config(name).corpus.folder == str(workspace.sample):
        questions = held_out_questions()
        return tuple(one.question for one in questions[:: len(questions) // COUNT][:COUNT])
    state = state_or_none(run, pointed_step(run, "last"))
    if state is None:
        return ()
    try:
        dataset = read_dataset(workspace.datasets / state.dataset, stop)
    except DamagedDatasetError:
        return ()
    tokenizer = load_tokenizer(run.tokenizer)
    ids = dataset.tokens("train")[:READ_TOKENS]
    marker = tokenizer.user_id if dataset.has_conversations else EOS
    found: dict[str, None] = {}
    for prompt in _prompts(np.asarray(ids), marker, tokenizer, dataset.has_conversations):
        found.setdefault(prompt)
        if len(found) == COUNT or stop.asked:
            break
    return tuple(found)


def _prompts(ids: NDArray[Any], marker: int, tokenizer: Tokenizer, asked: bool) -> Iterator[str]:
    begins = np.flatnonzero(ids == marker) + 1
    for begin in begins if asked else [0, *begins]:
        turn = ids[begin : begin + TURN_TOKENS].tolist()
        ends = [turn.index(one) for one in (tokenizer.assistant_id, EOS) if one in turn]
        text = tokenizer.decode(turn[: min(ends, default=len(turn))]).strip()
        if not asked:
            text = " ".join(text.split()[:BEGINNING_WORDS])
        if SHORTEST <= len(text) <= LONGEST and text.isprintable() and (ends or not asked):
            yield text
