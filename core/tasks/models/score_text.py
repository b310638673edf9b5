"""The request "how well do these models predict this text?", of one model or of several side by side."""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from core.control import StopRequested, StopToken
from core.errors.base import NothingToScoreError
from core.events.base import Notice, Task
from core.events.scoring import ModelsCompared, ScoreProgress, TextScored
from core.runs.folder import Workspace
from core.tasks.models.compared_models import ComparedModels, Side, by_vocabulary, open_compared
from core.tasks.models.open_documents import open_documents
from core.tasks.models.open_model import OpenModel
from core.tasks.models.text_pieces import REPLACEMENT, open_text, text_pieces
from core.wording import counted, listed, noun_for, percent

if TYPE_CHECKING:
    from core.tasks.models.text_scorer import TextScorer

PROGRESS_SECONDS = 0.5
MUCH_COPIED = 0.2  # of the tokens, each after a long match

Result = list[TextScored | ModelsCompared]
ReadPart = tuple[
    Sequence[str | int], int
]  # a part of a text, as for `TextScorer.put`, and how many of its bytes are read with it


def score_text(
    workspace: Workspace,
    sides: Sequence[Side],
    text: Path | BinaryIO,
    stop: StopToken,
    models: ComparedModels | None = None,
    window: OpenModel | None = None,
    *,
    documents: bool = False,
    stride: int = 0,
) -> Task[Result]:
    """Measure how well runs' models predict a text, in float32 where they are opened for it.

    The text is read in windows of the model's context that don't overlap, as in the evaluations of a run, unless there is
    a stride, and may be of any length. Models with one vocabulary read the windows of their shortest context, and how far the predictions of each
    are from those of the first is measured too; with different vocabularies each reads its own.

    Args:
        text: A file, or an open stream of bytes.
        models: Those that are still open from other measurements.
        window: As for `open_compared`.
        documents: Whether to measure each model's mixture with its documents, too.
        stride: How many tokens each window begins after the one before, where that is less than the context: then more
            tokens stand before each, as in a chat, and it takes as much longer.

    Returns:
        What was measured, the last events of the stream; of the part that was read where `stop` was set, or nothing.

    Raises:
        MissingPathError, NothingToScoreError: There is no such file, or nothing in it that a model knows.
        UnknownRunError, NoCheckpointError and others: As for `open_compared`.
    """
    with open_text(text) as source:
        try:
            models = models or ComparedModels(workspace)
            opened = yield from open_compared(models, sides, "float32", stop, window)
            if documents:
                for model in opened:
                    yield from open_documents(model, stop)
        except StopRequested:
            return []
        parts = (((piece.text,), piece.bytes_done) for piece in text_pieces(source))
        return (
            yield from score_parts(
                opened, parts, source.name, source.bytes, stop, documents=documents, stride=stride
            )
        )


def score_parts(
    models: Sequence[OpenModel],
    parts: Iterable[ReadPart],
    name: str,
    size: int,
    stop: StopToken,
    *,
    documents: bool = False,
    stride: int = 0,
) -> Task[Result]:
    """The same of open models, and of a text that comes in parts.

    Args:
        name: Of the text, as the beginning of a sentence.
        size: In bytes; 0 where it is not known.
        documents: Whether to measure their mixtures with their documents, too, which are open.
        stride: As for `score_text`.

    Raises:
        NothingToScoreError: There is nothing in it that a model knows.
    """
    from core.tasks.models.text_scorer import TextScorer  # here, because it imports torch

    places = by_vocabulary(models)
    groups = [[models[place] for place in group] for group in places]
    yield from _reading(models, groups)
    scorers = [TextScorer(group, documents=documents, stride=stride) for group in groups]
    complete = yield from _read(parts, size, scorers, stop)
    for scorer in scorers:
        if complete and not scorer.known_tokens:
            raise NothingToScoreError(name, _why_nothing(scorer, models))
    scored: dict[int, TextScored] = {}
    compared: list[ModelsCompared] = []
    for group, scorer in zip(places, scorers, strict=True):
        if scorer.tokens:
            scored |= zip(group, scorer.scores(complete), strict=True)
            compared += scorer.comparisons()
            yield from _copied(scorer)
    result: Result = [*(scored[place] for place in sorted(scored)), *compared]
    yield from result
    return result


def _reading(models: Sequence[OpenModel], groups: Sequence[Sequence[OpenModel]]) -> Task[None]:
    """What is to be known of how the models read the text."""
    if len(groups) > 1:
        yield Notice(_of_other_vocabularies(models, len(groups) == len(models)))
    for group in groups:
        if len({model.context_length for model in group}) > 1:
            who = "Both models" if len(group) == 2 else "These models"
            shortest = counted(min(model.context_length for model in group), "token")
            yield Notice(f"{who} read windows of {shortest}, the shorter of their contexts.")


def _copied(scorer: "TextScorer") -> Iterator[Notice]:
    """That a text is no test of the documents, where much of it stands in them."""
    for name, share in scorer.copied():
        if share >= MUCH_COPIED:
            text = (
                f"{percent(share)} of the text stands word for word in the documents of {name!r}, so it says little of "
                "how well they help with new text."
            )
            yield Notice(text)


def _read(parts: Iterable[ReadPart], size: int, scorers: "list[TextScorer]", stop: StopToken) -> Task[bool]:
    """Put all the text into each scorer; False where `stop` was set before its end."""
    reported, replaced = time.monotonic(), 0
    try:
        for part, bytes_done in parts:
            replaced += sum(text.count(REPLACEMENT) for text in part if isinstance(text, str))
            for scorer in scorers:
                for _ in scorer.put(part, stop):
                    if time.monotonic() - reported > PROGRESS_SECONDS:
                        reported = time.monotonic()
                        yield ScoreProgress(bytes_done, size)
        for scorer in scorers:
            for _ in scorer.put((), stop, is_last=True):
                pass
    except StopRequested:
        return False
    if replaced:
        places, verb = counted(replaced, "place"), noun_for(replaced, "is", "are")
        yield Notice(f"{places} of the text {verb} U+FFFD: it says so there, or could not be decoded.")
    return True


def _of_other_vocabularies(models: Sequence[OpenModel], all_differ: bool) -> str:
    names = listed([repr(model.name) for model in models])
    what = (
        "have different vocabularies, so there is no KL divergence between their predictions"
        if all_differ
        else "do not all have one vocabulary, so KL divergence is measured only between those that do"
    )
    return f"The runs {names} {what}. Compare bits/byte, or runs that were trained with the same tokenizer."


def _why_nothing(scorer: "TextScorer", models: Sequence[OpenModel]) -> str:
    if not scorer.tokens:
        return "there is no token in it"
    owner = next(model for model in models if model.loaded.tokenizer is scorer.tokenizer)
    return f"the vocabulary of {owner.name!r} has nothing of it"
