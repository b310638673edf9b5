"""Each setting of training is known to be free to change in a run, or not to be."""

import pytest

from core.config.resuming import MAY_CHANGE, MAY_NOT_CHANGE, explain_changes
from core.config.run import RunConfig
from core.config.toml import with_settings
from core.config.training import TrainingConfig
from core.errors import BadSettingError

RUN = RunConfig()
BEFORE = RUN.model_dump(mode="json")


def test_every_setting_of_training_is_in_one_of_the_two_lists():
    assert MAY_CHANGE.keys() | MAY_NOT_CHANGE.keys() == TrainingConfig.model_fields.keys()
    assert not MAY_CHANGE.keys() & MAY_NOT_CHANGE.keys()


def test_a_run_that_goes_on_unchanged_has_nothing_to_say():
    assert explain_changes(BEFORE, RUN) == []


def test_a_change_is_reported_with_both_values_and_what_it_does():
    [told] = explain_changes(BEFORE, with_settings(RUN, {"training.batch_size": 5}))
    assert told.startswith("batch_size is now 5 instead of 32. ")
    assert told.endswith(MAY_CHANGE["batch_size"])


@pytest.mark.parametrize(("name", "value"), [("optimizer", "adam"), ("seed", 43), ("window_overlap", 3)])
def test_what_made_the_run_what_it_is_cannot_change(name, value):
    with pytest.raises(BadSettingError, match=f"training.{name} cannot change once a run has begun"):
        explain_changes(BEFORE, with_settings(RUN, {f"training.{name}": value}))


def test_a_setting_that_the_run_did_not_know_yet_is_no_change():
    earlier = {"training": {"seed": 42}}
    assert explain_changes(earlier, with_settings(RUN, {"training.batch_size": 5})) == []
