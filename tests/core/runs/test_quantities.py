"""Where a run's values stand on the x axis of a chart."""

import numpy as np
import pytest

from core.events.runs import StepDone
from core.runs.history import RunHistory
from core.runs.quantities import x_values


@pytest.fixture
def history():
    """Four steps of half a second, ten tokens and a quarter of an epoch each."""
    history = RunHistory()
    history.extend(StepDone(n, 1.0, 1e-3, 0.1, 10 * n, 20.0, 0.5, n / 4, 5) for n in range(1, 5))
    return history


@pytest.mark.parametrize(
    ("axis", "expected"), [("step", [2, 4]), ("tokens", [20, 40]), ("epoch", [0.5, 1.0])]
)
def test_steps_stand_where_the_axis_has_them(history, axis, expected):
    assert x_values(history, axis, np.array([2.0, 4.0])).tolist() == expected
