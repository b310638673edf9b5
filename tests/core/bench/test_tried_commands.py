"""What the fuzzer of workspaces compares between two looks."""

from core.bench.tried_commands import list_runs
from core.control import Returning, StopToken


def test_a_run_is_told_in_what_does_not_depend_on_the_time(trained):
    asked = Returning(list_runs(trained, StopToken()))
    assert list(asked) == []
    assert asked.result["first"]["step"] == 6
    assert not {"bytes", "changed"} & set(asked.result["first"])
