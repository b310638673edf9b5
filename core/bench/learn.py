"""How fast a text is learned: nanoGPT's published CPU recipe and ours on the same text, in turns.

Both learn from the first nine tenths and are measured on the whole last tenth, each target once, in windows of their
own context length: in nats per character, because nanoGPT reads characters and ours the tokens of its settings. Only
training counts as time, a vocabulary's too. Each works in a process of its own, one at a time.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from core.bench.recipe import LearnedPoint, Recipe, split_text
from core.bench.subjects import SubjectProcess, our_process, plain_process
from core.config.run import RunConfig
from core.config.toml import with_settings
from core.control import StopToken
from core.disk.files import raising_disk_errors, write_whole
from core.errors.base import BadSettingError, CorpusTooSmallError
from core.events.base import Notice, Task
from core.events.bench import LearnCompared, LearnMeasured
from core.wording import counted, number

PEER, OURS = "nanoGPT", "ours"
SLICE_SECONDS = 5.0


def bench_learn(
    text: Path | None,
    out: Path,
    config: RunConfig,
    minutes: float,
    stop: StopToken,
    recipe: Recipe | None = None,
    eval_interval: int = 100,
) -> Task[LearnCompared | None]:
    """Train both on the text and compare their curves; a picture of them is written into `out`.

    Args:
        text: A file, read as UTF-8; without one, the sample corpus's texts.
        config: Ours; a tokenizer of words, which has none for many of the held-out ones, becomes one of characters.
        minutes: The longest that all may take.
        eval_interval: Steps between two measurements of the loss.

    Returns:
        The comparison; None where `stop` was set, or the time was over, before there were two points of each curve.

    Raises:
        BadSettingError: The text cannot be read.
        CorpusTooSmallError: It is shorter than ten windows.
        WorkspaceError: The folder `out` cannot be made.
        SubjectEndedError: One of the processes ran out of memory.
    """
    content, name = _read(text)
    recipe = recipe or Recipe()
    needed = 10 * (max(recipe.context_length, config.model.context_length) + 1)
    if len(content) < needed:
        raise CorpusTooSmallError("training", len(content), needed)
    if config.tokenizer.kind == "word":
        config = with_settings(config, {"tokenizer.kind": "char"})
    with raising_disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)  # not after minutes
    yield Notice(_introduction(text, content, config, recipe))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-learn-")))
        seed = config.training.seed
        learners = {
            PEER: stack.enter_context(
                plain_process(
                    "learners:NanoGPTLearner", split_text(content), folder, recipe, seed, eval_interval
                )
            ),
            OURS: stack.enter_context(
                our_process("learners:OurLearner", content, folder, config, eval_interval)
            ),
        }
        yield Notice(f"Ours computes in {learners[OURS].ask('plan')}.")
        curves = yield from _in_turns(learners, name, time.monotonic() + 60 * minutes, stop)
        if stop.asked or min(map(len, curves.values())) < 2:
            return None
        if not all(learner.ask("is_done") for learner in learners.values()):
            yield Notice("Time ran out before both had finished: these are results so far.")
    compared = compare(name, curves[PEER], curves[OURS])
    yield compared
    picture = out / f"bench-learn-{Path(name).stem}.svg"
    write_whole(picture, draw_learning(name, curves))
    yield Notice(f"The curves are in {picture}.")
    return compared


def compare(text: str, peer: Sequence[LearnedPoint], ours: Sequence[LearnedPoint]) -> LearnCompared:
    """What both curves say about each other."""
    return LearnCompared(
        text=text,
        peer_loss=peer[-1].loss,
        peer_steps=peer[-1].step,
        peer_seconds=peer[-1].seconds,
        seconds_to_peer_loss=seconds_to(ours, peer[-1].loss),
        loss_at_peer_seconds=loss_at(ours, peer[-1].seconds),
        loss=ours[-1].loss,
        steps=ours[-1].step,
        seconds=ours[-1].seconds,
    )


def seconds_to(curve: Sequence[LearnedPoint], loss: float) -> float | None:
    """When a curve first comes down to a loss, on a straight line between two points; None where it never does."""
    if curve[0].loss <= loss:
        return curve[0].seconds
    for before, after in pairwise(curve):
        if after.loss <= loss:
            share = (before.loss - loss) / (before.loss - after.loss)
            return before.seconds + share * (after.seconds - before.seconds)
    return None


def loss_at(curve: Sequence[LearnedPoint], seconds: float) -> float:
    """The loss after so many seconds, on a straight line between two points; after the last, the last one's."""
    for before, after in pairwise(curve):
        if before.seconds <= seconds < after.seconds:
            share = (seconds - before.seconds) / (after.seconds - before.seconds)
            return before.loss + share * (after.loss - before.loss)
    return curve[-1].loss


def _in_turns(
    learners: dict[str, SubjectProcess], text: str, deadline: float, stop: StopToken
) -> Task[dict[str, list[LearnedPoint]]]:
    """Some seconds of training for each in turn, until both are done or the time is over."""
    curves: dict[str, list[LearnedPoint]] = {name: [] for name in learners}
    waiting = dict(learners)
    while waiting and not stop.asked and time.monotonic() < deadline:
        for name, learner in list(waiting.items()):
            for point in learner.ask("advance", SLICE_SECONDS):
                curves[name].append(point)
                yield LearnMeasured(text, name, *point)
            if learner.ask("is_done"):
                del waiting[name]
    return curves


def _read(text: Path | None) -> tuple[str, str]:
    """A text and its name."""
    if text is None:
        from core.sample.meadow import text_files

        return "\n".join(content for _, content in text_files()), "sample"
    try:
        return text.read_text(encoding="utf-8"), text.name
    except (OSError, UnicodeDecodeError) as cause:
        raise BadSettingError(
            "--text", f"cannot be {text}: it is no file of UTF-8 text that can be read"
        ) from cause


def _introduction(text: Path | None, content: str, config: RunConfig, recipe: Recipe) -> str:
    train, held_out = split_text(content)
    source = (
        "No --text was given, so both learn the sample corpus's texts"
        if text is None
        else f"Both learn {text.name}"
    )
    return (
        f"{source}: {counted(len(train), 'character')} to train on, {number(len(held_out))} to measure, "
        f"{len(set(content)):,} different ones. nanoGPT's CPU recipe, float32, context {recipe.context_length}, "
        f"{counted(recipe.steps, 'step')} of {counted(recipe.batch_size * recipe.context_length, 'character')}; ours: preset "
        f"{config.preset}, {_units(config)}, context {config.model.context_length}, {counted(config.training.max_steps, 'step')}. "
        "Seconds are of training alone; each is measured in windows of its own context."
    )


def _units(config: RunConfig) -> str:
    tokenizer = config.tokenizer
    return "characters" if tokenizer.kind == "char" else f"BPE of {counted(tokenizer.vocab_size, 'token')}"


def draw_learning(text: str, curves: Mapping[str, Sequence[LearnedPoint]]) -> bytes:
    """An SVG of three diagrams beside each other: the same losses over steps, tokens read, and seconds of training."""
    from core.figures import blank_figure, escaped, rendered  # here, because it imports matplotlib

    figure = blank_figure(12.0, 3.6)
    figure.suptitle(escaped(f"Learning {text}"))
    for place, title in enumerate(("steps", "tokens read", "seconds of training")):
        axes = figure.add_subplot(1, 3, place + 1)
        for name, curve in curves.items():
            axes.plot([point[place] for point in curve], [point.loss for point in curve], label=name)
        axes.set_xlabel(title)
        axes.set_ylabel("validation loss, nats per character")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    return rendered(figure, ".svg")
