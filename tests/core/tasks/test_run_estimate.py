"""What a run comes to before it starts."""

import pytest

from core.config.corpus import CorpusConfig
from core.config.model import ModelConfig, count_parameters
from core.config.run import RunConfig
from core.config.tokenizer import TokenizerConfig
from core.config.training import TrainingConfig
from core.corpus.library import CorpusTotals
from core.tasks.run_estimate import count_snapshots, estimate_run, snapshot_cost
from core.tasks.run_horizon import RunCosts

TOTALS = CorpusTotals(documents=2, characters=4000, bytes=8000)


@pytest.mark.parametrize(("kind", "tokens"), [("bpe", 2000), ("word", 1333), ("char", 4000)])
def test_tokens_are_estimated_by_the_kind_of_tokenizer(kind, tokens):
    assert estimate_run(RunConfig(tokenizer=TokenizerConfig(kind=kind)), TOTALS).tokens == tokens


def test_epochs_are_steps_times_tokens_per_step_by_training_tokens():
    run = RunConfig(
        corpus=CorpusConfig(validation_share=0.5),  # 1,000 of 2,000 tokens are trained on
        model=ModelConfig(context_length=10),
        training=TrainingConfig(max_steps=100, batch_size=5, gradient_accumulation_steps=4),
    )
    estimate = estimate_run(run, TOTALS)
    assert (estimate.training_tokens, estimate.tokens_per_step) == (1000, 200)
    assert (estimate.steps, estimate.epochs) == (100, 20)


def test_a_limit_in_epochs_ends_the_run():
    run = RunConfig(
        corpus=CorpusConfig(validation_share=0.5),
        model=ModelConfig(context_length=10),
        training=TrainingConfig(max_steps=100_000, max_epochs=3, batch_size=10),
    )
    estimate = estimate_run(run, TOTALS)
    assert (estimate.steps, estimate.epochs) == (30, 3)


@pytest.mark.parametrize(
    ("changes", "steps", "epochs"),
    [
        ({"horizon": "epochs", "max_epochs": 3}, 30, 3),
        ({"horizon": "tokens", "max_tokens": 250}, 3, 0.3),
        ({"horizon": "minutes", "max_minutes": 1}, 0, 0),
    ],
)
def test_every_horizon_is_estimated_in_steps_and_epochs(changes, steps, epochs):
    run = RunConfig(
        corpus=CorpusConfig(validation_share=0.5),
        model=ModelConfig(context_length=10),
        training=TrainingConfig(max_steps=7, batch_size=10, **changes),
    )
    estimate = estimate_run(run, TOTALS)
    assert (estimate.steps, estimate.epochs) == (steps, pytest.approx(epochs))
    if changes["horizon"] == "minutes":
        assert estimate_run(run, TOTALS, RunCosts(step=0.5)).steps == 120


def test_a_short_text_does_not_fill_a_large_vocabulary():
    run = RunConfig(tokenizer=TokenizerConfig(vocab_size=50_257))
    assert estimate_run(run, TOTALS).parameters == count_parameters(run.model, 260 + 1800)


def test_without_text_there_are_no_epochs():
    estimate = estimate_run(RunConfig(), CorpusTotals(0, 0, 0))
    assert (estimate.tokens, estimate.epochs) == (0, 0)


@pytest.mark.parametrize(
    ("interval", "steps", "count"),
    [
        (0, range(101), 0),
        (10, range(101), 11),
        (30, range(101), 4),
        (200, range(101), 1),
        (10, range(21, 41), 2),
    ],
)
def test_snapshots_are_counted_from_the_untrained_model_on(interval, steps, count):
    assert count_snapshots(TrainingConfig(snapshot_interval=interval), steps) == count
    assert count == sum(1 for step in steps if interval and step % interval == 0)


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("float16", 2)])
def test_a_snapshot_takes_what_its_weights_take(dtype, size):
    run = RunConfig(training=TrainingConfig(max_steps=100, snapshot_interval=50, snapshot_dtype=dtype))
    estimate = estimate_run(run, TOTALS)
    assert (estimate.snapshots, estimate.snapshot_bytes) == (3, size * estimate.parameters)


def test_what_snapshots_cost_is_said_of_one_and_of_many():
    assert snapshot_cost(1, 12_600_000) == "Keeps 1 snapshot: 12.6 MB"
    assert snapshot_cost(20, 12_600_000) == "Keeps 20 snapshots, 12.6 MB each: 252.0 MB"
