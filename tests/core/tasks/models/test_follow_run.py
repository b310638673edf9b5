"""Runs that train elsewhere: their journals as they grow, in a folder and over ssh."""

import os
from pathlib import Path

import pytest

from core.control import StopToken
from core.errors.base import MissingPathError
from core.errors.runs import UnreachableRunError
from core.events.runs import RunEnded, StepDone
from core.tasks.models import follow_run as task
from core.tasks.models.follow_run import follow_run

SSH = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
[ "$2" = meadow ] || { echo "ssh: Could not resolve hostname $2" >&2; exit 255; }
exec sh -c "$3"
"""


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """An `ssh` in the path that reaches one host, which is this machine."""
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_a_run_that_has_ended_is_told_whole(trained):
    events = list(follow_run(str(trained.run("first").root), StopToken()))
    assert sum(isinstance(event, StepDone) for event in events) == 6
    assert isinstance(events[-1], RunEnded)


def test_what_is_written_meanwhile_comes_too_line_by_line(trained, tmp_path, monkeypatch):
    lines = trained.run("first").events.read_bytes().splitlines(keepends=True)
    pieces = iter([b"", lines[0] + lines[1][:10], lines[1][10:] + b"".join(lines[2:])])
    journal = tmp_path / "events.jsonl"

    def write_more(_):
        with journal.open("ab") as file:
            file.write(next(pieces))

    monkeypatch.setattr(task.time, "sleep", write_more)
    whole = list(follow_run(str(trained.run("first").root), StopToken()))
    assert list(follow_run(str(tmp_path), StopToken())) == whole


def test_a_stop_ends_it(tmp_path, monkeypatch):
    stop = StopToken()
    monkeypatch.setattr(task.time, "sleep", lambda _: stop.set())
    assert list(follow_run(str(tmp_path), stop)) == []


def test_over_ssh_it_is_the_same(trained, ssh):
    here = trained.run("first").root
    assert list(follow_run(f"meadow:{here}", StopToken())) == list(follow_run(str(here), StopToken()))


def test_a_host_that_is_not_there_is_said_in_ssh_s_words(ssh):
    with pytest.raises(UnreachableRunError, match="Could not resolve hostname pasture"):
        list(follow_run("pasture:/runs/first", StopToken()))


def test_without_ssh_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreachableRunError, match="not installed"):
        list(follow_run("meadow:/runs/first", StopToken()))


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(MissingPathError):
        list(follow_run(str(tmp_path / "nowhere"), StopToken()))


def test_the_command_shows_it(trained, command):
    code, out, _ = command("runs", "follow", trained.run("first").root, "--workspace", trained.root)
    assert code == 0
    assert "Run 'first' finished at step 6" in out
    assert Path(trained.root).exists()
