"""The learning rate is a pure function of the step: up a line, then down a cosine or a line, or level. Windows grow."""

from collections import Counter
from itertools import pairwise

import pytest

from core.config.training import TrainingConfig
from core.training.schedule import growth_phases, learning_rate_at, warmup_steps, window_parts


def config(schedule, warmup_steps=0, lowest=0.0):
    return TrainingConfig(
        schedule=schedule, warmup_steps=warmup_steps, learning_rate=1e-3, min_learning_rate=lowest
    )


def test_the_cosine_falls_as_in_the_worked_example(examples):
    example = examples["cosine_schedule"]
    rates = [learning_rate_at(t, config("cosine"), example["t_max"]) for t in example["t"]]
    assert rates == pytest.approx(example["expected"], abs=1e-13)


def test_the_line_falls_evenly():
    rates = [learning_rate_at(step, config("linear"), 4) for step in range(5)]
    assert rates == pytest.approx([1e-3, 0.75e-3, 0.5e-3, 0.25e-3, 0.0])


def test_constant_stays():
    assert {learning_rate_at(step, config("constant"), 4) for step in range(9)} == {1e-3}


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_the_warm_up_rises_in_a_line_from_above_zero_to_the_highest(schedule):
    rates = [learning_rate_at(step, config(schedule, warmup_steps=4), 100) for step in range(5)]
    assert rates == pytest.approx([0.2e-3, 0.4e-3, 0.6e-3, 0.8e-3, 1e-3])


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_the_fall_begins_after_the_warm_up_and_ends_at_the_least_rate(schedule):
    wish = config(schedule, warmup_steps=10, lowest=1e-4)
    rates = [learning_rate_at(step, wish, 30) for step in range(10, 31)]
    assert rates[0] == pytest.approx(1e-3)
    assert rates[10] == pytest.approx((1e-3 + 1e-4) / 2)  # half-way, both shapes cross the middle
    assert rates[-1] == pytest.approx(1e-4)
    assert all(later < earlier for earlier, later in pairwise(rates))


def test_past_the_end_the_rate_stays_at_the_least():
    assert learning_rate_at(50, config("cosine", lowest=1e-4), 30) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("ratio", "steps", "warmup"), [(0.1, 40, 4), (0.0714, 700, 50), (0.07, 100, 7), (0.01, 5, 1), (0.9, 1, 0)]
)
def test_a_share_of_the_run_is_rounded_up_and_leaves_a_step_at_the_peak(ratio, steps, warmup):
    wish = TrainingConfig(warmup_ratio=ratio, warmup_steps=1000, schedule="constant")
    assert warmup_steps(wish, steps) == warmup < steps
    rates = [learning_rate_at(step, wish, steps) for step in range(steps)]
    assert rates == [
        learning_rate_at(step, TrainingConfig(warmup_steps=warmup, schedule="constant"), steps)
        for step in range(steps)
    ]
    assert rates[-1] == wish.learning_rate


def test_a_warm_up_longer_than_the_run_never_ends():
    rates = [learning_rate_at(step, config("cosine", warmup_steps=100), 10) for step in range(10)]
    assert rates == sorted(rates)
    assert rates[-1] < 1e-3


def test_windows_grow_in_the_middle_of_a_run_and_in_the_middle_of_what_is_left():
    parts = [window_parts(TrainingConfig(context_growth=4), step, 8) for step in range(10)]
    assert parts == [4, 4, 4, 4, 2, 2, 1, 1, 1, 1]
    assert {window_parts(TrainingConfig(), step, 8) for step in range(10)} == {1}
    assert window_parts(TrainingConfig(context_growth=64), 0, 1) == 64
    assert [window_parts(TrainingConfig(context_growth=4), step, 8, most=2) for step in range(8)] == [
        2
    ] * 6 + [1] * 2


@pytest.mark.parametrize("growth", [1, 2, 3, 4, 7, 64])
def test_the_phases_are_the_shares_of_the_steps(growth):
    steps, config = 1 << 10, TrainingConfig(context_growth=growth)
    taken = Counter(window_parts(config, step, steps) for step in range(steps))
    assert growth_phases(config) == {parts: count / steps for parts, count in taken.items()}
    assert list(growth_phases(config)) == sorted(taken, reverse=True)
