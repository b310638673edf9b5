"""The fuzzers from the command line: what they are told goes on to the task, and a finding is a failure."""

from pathlib import Path

import pytest

from core.bench import fuzz_workspace as task
from core.errors.bench import FuzzFailedError
from core.events.bench import WorkspaceFuzzChecked


@pytest.fixture
def asked(monkeypatch):
    """What the task was asked for; it fails where the seed is 13."""
    calls = []

    def fuzz_workspace(seconds, seed, first, kept, stop):
        calls.append((seconds, seed, first, kept))
        report = WorkspaceFuzzChecked(4, 2.0, (("equal", 36),), 0)
        yield report
        if seed == 13:
            raise FuzzFailedError(Path("state.json"), "runs: KeyError")
        return report

    monkeypatch.setattr(task, "fuzz_workspace", fuzz_workspace)
    return calls


def test_a_workspace_is_fuzzed_as_asked(tmp_path, command, asked):
    options = ("--seconds", 5, "--seed", 7, "--first", 3, "--kept", tmp_path / "kept")
    code, out, _ = command("fuzz-workspace", *options, "--workspace", tmp_path)
    assert (code, asked) == (0, [(5.0, 7, 3, tmp_path / "kept")])
    assert "4 workspaces in 2 s, 0 findings: 36 equal" in out


def test_a_finding_is_a_failure(tmp_path, command, asked):
    code, _, told = command("fuzz-workspace", "--seed", 13, "--workspace", tmp_path)
    assert code == 1
    assert "A guarantee was broken for state.json: runs: KeyError." in told
