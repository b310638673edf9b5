"""What a run begins as that begins as another."""

import pytest

from core.control import StopToken
from core.runs.base_model import fine_tune_config
from core.tasks.training.train_model import train_model


def test_a_fine_tune_begins_with_a_tenth_of_the_rates_and_windows_that_have_grown(filled, tiny):
    config = tiny({"training.context_growth": 2, "training.max_steps": 1})
    list(train_model(filled, "base", config, StopToken()))
    begun = fine_tune_config(filled, "base").training
    assert begun.context_growth == 1
    assert begun.learning_rate == pytest.approx(config.training.learning_rate / 10)
