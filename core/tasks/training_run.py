"""A run under way: the training loop, with its looks, samples and saves laid between the steps.

The loop itself knows nothing of evaluation, checkpoints or snapshots.
"""

import math
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import torch

from core.control import StopToken
from core.events import (
    CheckpointSaved,
    Evaluated,
    Event,
    ReplyEnded,
    RunEnded,
    RunPrepared,
    SampleWritten,
    SnapshotSaved,
    StepDone,
)
from core.generation.writing import write
from core.run_errors import TrainingDivergedError
from core.runs.checkpoint import drop_snapshots_after, save_checkpoint, save_snapshot
from core.runs.loading import model_weights
from core.runs.pointers import snapshot_steps
from core.runs.state import TOKENIZER, CheckpointState, read_state
from core.tasks.run_plan import windows_per_step
from core.tasks.training_session import Session
from core.tokenizers.tokenizer import EOS
from core.training.compute import cpu_threads
from core.training.evaluation import evaluate
from core.training.loop import train
from core.training.optimizer import optimizer_tensors

SAMPLE_PROMPT_TOKENS = 8
SAMPLE_SEARCH_TOKENS = 4096  # of the validation text, to find a question in


def run_session(session: Session, stop: StopToken) -> Generator[Event, None, None]:
    """Train to the plan's end, until early stopping ends the run, or until `stop` is set; `RunEnded` comes last.

    A checkpoint follows every evaluation, and the step at which a run is stopped; a snapshot comes before both, where one
    is due. Of several processes, the main one alone evaluates and saves. An evaluation or sample that a stop cuts off
    yields no event; a run that is resumed makes up for it before it takes the next step.
    """
    with cpu_threads(session.compute.threads):
        yield from _steps_and_looks(session, stop)


def _steps_and_looks(session: Session, stop: StopToken) -> Generator[Event, None, None]:
    started = time.perf_counter()
    yield _prepared(session)
    yield from _snapshot_of_the_start(session)
    complete = True
    if evaluation_was_missed(session):
        with session.averaged_weights():
            complete = yield from _look_and_save(session, stop)
    saved_step = session.progress.step
    for done in _steps(session, stop):
        yield done
        if _snapshot_is_due(
            session
        ):  # before the checkpoint: a step that a run resumes from has its snapshot
            yield _save_snapshot(session)
        if _evaluation_is_due(session):
            with session.averaged_weights():
                complete = yield from _look_and_save(session, stop)
            saved_step = done.step
            if _stops_early(session):
                break
    step = session.progress.step
    if saved_step < step and session.group.is_main:
        with session.averaged_weights():
            saved = _save_unevaluated(session)
        yield saved
    seconds = time.perf_counter() - started
    yield RunEnded(session.folder.name, step, _reason(session, complete), session.best_val_loss, seconds)


def _steps(session: Session, stop: StopToken) -> Iterator[StepDone]:
    if _stops_early(session):
        return iter(())
    return train(
        session.train_state,
        session.batch_at,
        session.training,
        session.plan,
        session.progress,
        stop,
        session.group,
        session.prepare_next_batch,
    )


def _stops_early(session: Session) -> bool:
    """Whether early stopping ends the run, as the main process has counted; all processes get the same answer."""
    if not session.training.early_stopping_patience:
        return False
    return bool(session.group.all_reduce(int(session.early_stopping.is_over)))


def _reason(session: Session, complete: bool) -> str:
    """Why the run ends. `complete` is False where a stop cut off its last evaluation."""
    if complete and session.progress.step >= session.plan.steps:
        return "finished"
    return "early_stopped" if complete and session.early_stopping.is_over else "stopped"


def _evaluation_is_due(session: Session) -> bool:
    step = session.progress.step
    return step % session.training.eval_interval == 0 or step == session.plan.steps


def _snapshot_is_due(session: Session) -> bool:
    interval = session.training.snapshot_interval
    return bool(interval) and session.progress.step % interval == 0 and session.group.is_main


def _snapshot_of_the_start(session: Session) -> Generator[Event, None, None]:
    """What snapshots there are where a run begins or goes on: none of a step that it has not taken, and that of its step."""
    if session.group.is_main:
        drop_snapshots_after(session.folder, session.progress.step)
    if _snapshot_is_due(session) and session.progress.step not in snapshot_steps(session.folder):
        yield _save_snapshot(session)


def evaluation_was_missed(session: Session) -> bool:
    """True where an evaluation belongs to the step that the run begins at, and no checkpoint holds its outcome."""
    step = session.progress.step
    if step == 0:
        return True
    return _evaluation_is_due(session) and read_state(session.folder.checkpoint(step)).val_loss is None


def _look_and_save(session: Session, stop: StopToken) -> Generator[Event, None, bool]:
    """Evaluate, sample and save; where `stop` cuts that off, save alone.

    Returns:
        False where it was cut off.
    """
    if not session.group.is_main:
        return True
    evaluated = _evaluated(session, stop)
    sample = _sample(session, stop) if evaluated and session.training.sample_tokens else None
    if evaluated is None or (session.training.sample_tokens and sample is None):
        yield _save_unevaluated(session)
        return False
    if session.best_val_loss is None or session.best_step == 0 or evaluated.loss < session.best_val_loss:
        session.best_val_loss, session.best_step = evaluated.loss, evaluated.step
    session.early_stopping.add(evaluated.loss)
    yield evaluated
    if sample is not None:
        yield sample
    yield _save(session, evaluated.loss)
    return True


def _save_unevaluated(session: Session) -> CheckpointSaved:
    """Save a step that was not evaluated. It is the best there is where no trained step was."""
    if session.best_val_loss is None or session.best_step == 0:
        session.best_val_loss, session.best_step = None, session.progress.step
    return _save(session, val_loss=None)


def _evaluated(session: Session, stop: StopToken) -> Evaluated | None:
    """How good the model is now; None where `stop` was set meanwhile.

    Raises:
        TrainingDivergedError: The loss is not finite.
    """
    evaluated = evaluate(
        session.train_state.compute_model,
        session.val_batches,
        session.train_state.precision,
        session.progress.step,
        stop,
    )
    if evaluated is not None and not math.isfinite(
        evaluated.loss
    ):  # the last step spoiled the weights: keep the checkpoint before
        raise TrainingDivergedError(session.progress.step)
    return evaluated


def _sample(session: Session, stop: StopToken) -> SampleWritten | None:
    """What the model writes now, after the run's fixed prompt and with its seed; None where `stop` was set meanwhile.

    Half a sample yields no event: a run that was stopped here should read like one that was not.
    """
    prompt = _sample_prompt(session)
    config = session.config.sampling.model_copy(
        update={"seed": session.training.seed, "max_new_tokens": session.training.sample_tokens}
    )
    session.model.eval()
    *_, ended = write(session.model, session.tokenizer, prompt, (), config, stop)
    assert isinstance(ended, ReplyEnded)
    if ended.reason == "stopped":
        return None
    return SampleWritten(session.progress.step, session.tokenizer.decode(prompt), ended.text)


def _sample_prompt(session: Session) -> list[int]:
    """The user's prompt; without one, the first question or the first words of the validation text."""
    tokenizer = session.tokenizer
    chosen = tokenizer.encode(session.training.sample_prompt)
    if chosen:
        return [*chosen, EOS] if session.config.sampling.end_prompt else chosen
    ids: list[int] = session.val_tokens[:SAMPLE_SEARCH_TOKENS].tolist()
    if tokenizer.user_id in ids:
        question = ids[ids.index(tokenizer.user_id) :]
        if tokenizer.assistant_id in question:
            return [EOS, *question[: question.index(tokenizer.assistant_id) + 1]]
    return ids[:SAMPLE_PROMPT_TOKENS]


def _save(session: Session, val_loss: float | None) -> CheckpointSaved:
    started = time.perf_counter()
    step = session.progress.step
    place = save_checkpoint(
        session.folder,
        model_weights(session.model),
        optimizer_tensors(session.train_state.optimizer, session.model),
        _state(session, val_loss),
        session.training.keep_checkpoints,
    )
    is_best = session.best_step == step
    return CheckpointSaved(step, str(place), is_best, _bytes_in(place), time.perf_counter() - started)


def _save_snapshot(session: Session) -> SnapshotSaved:
    """Save the weights of this step; their average, where the run keeps one, as a checkpoint does.

    Raises:
        TrainingDivergedError: One of them is not finite.
    """
    started = time.perf_counter()
    step = session.progress.step
    dtype: torch.dtype = getattr(torch, session.training.snapshot_dtype)
    with session.averaged_weights():
        weights = model_weights(session.model)
        if not all(tensor.isfinite().all() for tensor in weights.values()):
            raise TrainingDivergedError(step)
        place = save_snapshot(session.folder, weights, _state(session, val_loss=None), dtype)
    return SnapshotSaved(step, str(place), _bytes_in(place), time.perf_counter() - started)


def _bytes_in(place: Path) -> int:
    return sum(path.stat().st_size for path in place.iterdir())


def _state(session: Session, val_loss: float | None) -> CheckpointState:
    """What the files beside it are of."""
    progress = session.progress
    return CheckpointState(
        step=progress.step,
        tokens=progress.tokens,
        seconds=progress.seconds,
        parameters=sum(parameter.numel() for parameter in session.model.parameters()),
        vocab_size=session.tokenizer.vocab_size,
        precision=session.compute.precision,
        attention=session.compute.attention,
        threads=session.compute.threads,
        train_loss=progress.train_loss,
        val_loss=val_loss,
        best_val_loss=session.best_val_loss,
        best_step=session.best_step,
        dataset=session.dataset.name,
        scaler=session.train_state.precision.scaler.state_dict(),
        windows=progress.windows,
        planned_steps=session.plan.steps,
        schedule_from=session.plan.start,
        early_stopping_best=session.early_stopping.best,
        early_stopping_count=session.early_stopping.count,
        has_conversations=session.dataset.has_conversations,
        settings=session.config.model_dump(mode="json", exclude_none=True),
        sha256={TOKENIZER: session.tokenizer_sha256},
    )


def _prepared(session: Session) -> RunPrepared:
    training = session.training
    return RunPrepared(
        name=session.folder.name,
        preset=session.config.preset,
        parameters=sum(parameter.numel() for parameter in session.model.parameters()),
        vocab_size=session.tokenizer.vocab_size,
        start_step=session.progress.step,
        max_steps=session.plan.steps,
        steps_per_epoch=session.plan.windows_per_epoch / windows_per_step(training),
        tokens_per_step=windows_per_step(training) * session.config.model.context_length,
        device=session.device.type,
        precision=session.compute.precision,
        seed=training.seed,
    )
