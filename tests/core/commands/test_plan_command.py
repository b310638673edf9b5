"""`plan` says in a terminal what a window shows beside Start."""

import pytest

from core.events.runs import StepTimes
from core.tasks.training import time_steps as time_steps_file

TINY = ("--preset", "tiny", "--set", "training.max_steps=100_000")


@pytest.fixture(autouse=True)
def timed(monkeypatch):
    monkeypatch.setattr(time_steps_file, "call_in_process", lambda *_, **__: StepTimes(0.5, 0.1))


def test_the_plan_is_a_table_with_the_warnings_below(command, filled):
    code, out, _ = command("--workspace", filled.root, "plan", *TINY)
    assert code == 0
    assert [title in out for title in ("Parameters", "Epochs", "Memory", "Disk", "Time")] == [True] * 5
    assert "≈ 14 hours" in out
    assert "Beyond 40 epochs" in out


def test_the_plan_is_there_for_programs(records, filled):
    code, found = records("--workspace", filled.root, "plan", *TINY)
    assert code == 0
    assert [record["name"] for record in found if record["event"] == "plan_row"][-1] == "time"
    assert [record["event"] for record in found][-1] == "plan_warning"


def test_nothing_is_timed_without_text(command, tmp_path, monkeypatch):
    monkeypatch.setattr(time_steps_file, "call_in_process", lambda *_, **__: pytest.fail("timed"))
    code, out, _ = command("--workspace", tmp_path, "plan")
    assert (code, "no text yet" in out) == (0, True)


def test_a_fine_tune_is_planned_with_the_model_of_its_base(command, filled):
    few = ("--preset", "teaching", "--set", "training.max_steps=2", "--set", "training.sample_tokens=0")
    assert command("--workspace", filled.root, "train", *few, "--name", "base")[0] == 0
    code, out, _ = command(
        "--workspace", filled.root, "plan", "--from", "base", "--set", "training.max_steps=3"
    )
    assert code == 0
    assert "3 steps" in out
    code, _, err = command("--workspace", filled.root, "plan", "--from", "nobody")
    assert code != 0
    assert "nobody" in err
