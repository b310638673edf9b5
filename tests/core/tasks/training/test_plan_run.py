"""The plan of a run times its steps where that is not remembered."""

import pytest

from core.control import StopToken
from core.events.runs import StepTimes
from core.runs.folder import Workspace
from core.tasks.training import plan_run as plan_run_file
from core.tasks.training.plan_run import plan_run


@pytest.fixture
def timed(monkeypatch):
    """Takes the place of timing steps; says how often it was asked for."""
    asked = []

    def time_steps(workspace, run, totals, stop):
        asked.append(run)
        yield from ()
        return StepTimes(0.5, 0.1)

    monkeypatch.setattr(plan_run_file, "time_steps", time_steps)
    return asked


def plan(workspace, run):
    stream = plan_run(workspace, run, StopToken())
    while True:
        try:
            next(stream)
        except StopIteration as end:
            return end.value


def test_the_time_is_that_of_the_timed_steps(filled, tiny, timed):
    rows = {row.name: row for row in plan(filled, tiny()).rows}
    assert len(timed) == 1
    assert "s" in rows["time"].value


def test_without_text_nothing_is_timed(tmp_path, tiny, timed):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    plan(workspace, tiny())
    assert timed == []
