"""The request "how well does this model predict this text?", of one model or of two side by side."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from core.control import StopRequested, StopToken
from core.errors.base import NothingToScoreError
from core.events.base import Notice, Task
from core.events.scoring import ModelsCompared, ScoreProgress, TextScored
from core.runs.folder import Workspace
from core.tasks.models.open_model import OpenModel, open_model
from core.tasks.models.text_pieces import REPLACEMENT, TextSource, open_text, text_pieces
from core.wording import counted, noun_for

if TYPE_CHECKING:
    from core.tasks.models.text_scorer import TextScorer

PROGRESS_SECONDS = 0.5

Result = list[TextScored | ModelsCompared]


def score_text(
    workspace: Workspace,
    name: str,
    checkpoint: str,
    text: Path | BinaryIO,
    stop: StopToken,
    against: tuple[str, str] | None = None,
) -> Task[Result]:
    """Measure how well a run's model predicts a text, in float32.

    The text is read once, in windows of the model's context that don't overlap, as in the evaluations of a run, and may
    be of any length. Of two models with one vocabulary both read the windows of the shorter context, and the divergence of
    their predictions is measured too; with different vocabularies each reads its own.

    Args:
        checkpoint: "best", "last" or a step.
        text: A file, or an open stream of bytes.
        against: The run and checkpoint of a second model.

    Returns:
        What was measured, the last events of the stream; of the part that was read where `stop` was set, or nothing.

    Raises:
        MissingPathError, NothingToScoreError: There is no such file, or nothing in it that a model knows.
        UnknownRunError, NoCheckpointError and others: As for `open_model`.
    """
    from core.tasks.models.text_scorer import TextScorer  # here, because it imports torch

    with open_text(text) as source:
        models: list[OpenModel] = []
        for run, which in ((name, checkpoint), *([against] if against else [])):
            models.append((yield from open_model(workspace, run, which, stop, "float32")))
        if len(models) == 2 and not have_one_vocabulary(*models):
            yield Notice(_of_two_vocabularies(*models))
            scorers = [TextScorer([model]) for model in models]
        else:
            scorers = [TextScorer(models)]
            if len({model.context_length for model in models}) > 1:
                shorter = counted(scorers[0].context_length, "token")
                yield Notice(f"Both models read windows of {shorter}, the shorter of their contexts.")
        complete = yield from _read(source, scorers, stop)
        for scorer in scorers:
            if complete and not scorer.known_tokens:
                raise NothingToScoreError(source.name, _why_nothing(scorer, models))
    result: Result = [score for scorer in scorers if scorer.tokens for score in scorer.scores(complete)]
    yield from result
    return result


def _read(source: TextSource, scorers: "list[TextScorer]", stop: StopToken) -> Task[bool]:
    """Put all the text into each scorer; False where `stop` was set before its end."""
    reported, replaced = time.monotonic(), 0
    try:
        for piece in text_pieces(source):
            replaced += piece.text.count(REPLACEMENT)
            for scorer in scorers:
                for _ in scorer.put(piece.text, stop):
                    if time.monotonic() - reported > PROGRESS_SECONDS:
                        reported = time.monotonic()
                        yield ScoreProgress(piece.bytes_done, source.bytes)
        for scorer in scorers:
            for _ in scorer.put("", stop, is_last=True):
                pass
    except StopRequested:
        return False
    if replaced:
        places, verb = counted(replaced, "place"), noun_for(replaced, "is", "are")
        yield Notice(f"{places} of the text {verb} U+FFFD: it says so there, or could not be decoded.")
    return True


def have_one_vocabulary(model: OpenModel, other: OpenModel) -> bool:
    """Whether a token means the same to both."""
    one, two = model.loaded.tokenizer, other.loaded.tokenizer
    return (one.kind, one.tokens, one.merges) == (two.kind, two.tokens, two.merges)


def _of_two_vocabularies(model: OpenModel, other: OpenModel) -> str:
    return (
        f"The runs {model.name!r} and {other.name!r} have different vocabularies, so there is no KL divergence between their "
        "predictions. Compare bits/byte, or a run that was trained with the same tokenizer."
    )


def _why_nothing(scorer: "TextScorer", models: list[OpenModel]) -> str:
    if not scorer.tokens:
        return "there is no token in it"
    owner = next(model for model in models if model.loaded.tokenizer is scorer.tokenizer)
    return f"the vocabulary of {owner.name!r} has nothing of it"
