"""What was measured once is remembered, and a memory that cannot be read is measured anew."""

import pytest

from core.runs import measurements
from core.runs.folder import Workspace
from core.runs.measurements import remember, remembered


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


def test_what_was_remembered_is_found_again_beside_the_rest(workspace):
    remember(workspace, "a", "float32")
    remember(workspace, "b", "bfloat16")
    assert (remembered(workspace, "a"), remembered(workspace, "b")) == ("float32", "bfloat16")
    assert remembered(workspace, "c") == ""


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00", "[" * 100_000])
def test_a_damaged_memory_is_empty_and_can_be_written_again(workspace, text):
    workspace.measurements.write_text(text)
    assert remembered(workspace, "a") == ""
    remember(workspace, "a", "float32")
    assert remembered(workspace, "a") == "float32"


def test_what_cannot_be_kept_costs_no_run(tmp_path):
    (tmp_path / "file").write_text("")
    below_a_file = Workspace(tmp_path / "file")
    remember(below_a_file, "a", "float32")
    assert measurements.remembered(below_a_file, "a") == ""
