"""What a run is expected to reach."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.config.presets import PRESETS, preset_run
from core.config.toml import with_settings
from core.planning.expectation import (
    EXAMPLES,
    GAIN,
    LEVEL,
    Expectation,
    Learned,
    expect,
    expected_curve,
    is_foreseeable,
    reads_like,
    worth,
)

TEXT = Learned(text_bits=2.8, train_bytes=3_600_000, bytes_per_token=3.2)


def test_a_first_reading_counts_whole_and_later_ones_less_and_less():
    assert worth(500, 1000) == 500
    assert worth(1000, 1000) == pytest.approx(1000)
    twice, thrice, often = (worth(1000 * times, 1000) for times in (2, 3, 1000))
    assert 1000 < twice < thrice < often
    assert twice - 1000 > thrice - twice
    assert often < 1000 * 20


def test_more_learned_from_a_text_is_better_and_a_harder_text_is_worse():
    few, many = (expect(TEXT, tokens).middle for tokens in (500_000, 5_000_000))
    assert many < few
    harder = expect(replace(TEXT, text_bits=3.2), 500_000)
    assert harder.middle > few


def test_the_band_lies_around_its_middle():
    band = expect(TEXT, 1_000_000)
    assert band.low < band.middle < band.high
    assert math.isclose(band.middle / band.low, band.high / band.middle)


def test_before_a_run_is_over_more_is_expected_than_of_one_that_ends_there():
    assert expect(TEXT, 1_000_000, done=0.5).middle > expect(TEXT, 1_000_000).middle


def test_the_curve_falls_and_ends_where_the_run_does():
    curve = expected_curve(TEXT, 1024, 2000)
    steps, low, high = zip(*curve, strict=True)
    assert steps[-1] == 2000
    assert list(steps) == sorted(set(steps))
    assert list(low) == sorted(low, reverse=True)
    assert all(least < most for least, most in zip(low, high, strict=True))
    assert (low[-1], high[-1]) == (expect(TEXT, 2000 * 1024).low, expect(TEXT, 2000 * 1024).high)
    assert expected_curve(TEXT, 1024, 1)[-1][0] == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_runs_of_the_family_that_was_fitted_are_foreseen(preset):
    assert is_foreseeable(preset_run(preset)) == (
        preset in ("auto", "starter", "tiny", "mini", "medium", "large")
    )


def test_a_fine_tune_is_not_foreseen():
    assert not is_foreseeable(preset_run("starter").model_copy(update={"base_model": "first@1"}))
    assert not is_foreseeable(with_settings(preset_run("starter"), {"training.optimizer": "adamw"}))


RUNS = list(
    csv.DictReader((Path(__file__).parent / "expected_runs.csv").read_text(encoding="utf-8").splitlines())
)
NUMBERS = ("text_bits", "train_bytes", "bytes_per_token", "tokens", "bits_per_byte")


def measured(role):
    """Runs that were fitted ("fit") or kept for the test, with what each had learned and reached."""
    for run in RUNS:
        if run["role"] == role:
            *about, tokens, bits = (float(run[name]) for name in NUMBERS)
            yield Learned(*about), tokens, bits


def test_the_numbers_are_the_least_squares_of_the_runs_that_were_fitted():
    rows, goal = [], []
    for learned, tokens, bits in measured("fit"):
        seen = worth(tokens * learned.bytes_per_token, learned.train_bytes)
        rows.append([1, -math.log(seen)])
        goal.append(math.log(bits / learned.text_bits))
    found, *_ = np.linalg.lstsq(np.array(rows), np.array(goal), rcond=None)
    assert found == pytest.approx([LEVEL, GAIN], abs=2e-3)


@pytest.mark.parametrize("role", ["fit", "test"])
def test_the_band_holds_four_runs_of_five(role):
    inside = [
        (band := expect(learned, tokens)).low <= bits <= band.high for learned, tokens, bits in measured(role)
    ]
    assert len(inside) >= 5
    assert sum(inside) >= 0.8 * len(inside)


@pytest.mark.parametrize(("share", "place"), [(2.0, 0), (0.7, 1), (0.55, 2), (0.3, 3)])
def test_the_better_it_is_expected_to_be_the_better_it_reads(share, place):
    assert reads_like(Expectation(1.7 * share, 1.7 * share), 1.7) == EXAMPLES[place][1]
