"""A workspace moves whole or not at all: whatever comes in between, the old one is as it was."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from filelock import FileLock

from core.control import StopToken
from core.corpus.library import Library
from core.errors.system import DiskFullError, WorkspaceBusyError, WorkspaceError, WorkspaceTargetError
from core.runs.folder import Workspace
from core.tasks.workspaces import move_workspace as module
from core.tasks.workspaces.move_workspace import move_workspace

KILLED = """
import os, signal, sys
from pathlib import Path
from core.control import StopToken
from core.runs.folder import Workspace
from core.tasks.workspaces import move_workspace as module

module._renamed = lambda old, new: False
for event in module.move_workspace(Workspace(Path(sys.argv[1])), Path(sys.argv[2]), StopToken()):
    os.kill(os.getpid(), signal.SIGKILL)
"""

KILLED_REMOVING = """
import os, signal, sys
from pathlib import Path
from core.control import StopToken
from core.runs.folder import Workspace
from core.tasks.workspaces import move_workspace as module

def kill(folder, ignore_errors):
    if folder.name.endswith(module.LEFT):
        next(folder.rglob("*.sqlite")).unlink()
        os.kill(os.getpid(), signal.SIGKILL)

module._renamed, module.shutil.rmtree = lambda old, new: False, kill
list(module.move_workspace(Workspace(Path(sys.argv[1])), Path(sys.argv[2]), StopToken()))
"""


def contents(root):
    """Of all files but locks, which a look may make anew."""
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(root): path.read_bytes() for path in files}


def moved(workspace, target, stop=None):
    """The workspace that comes back, and the events on the way."""
    stream, events = move_workspace(workspace, target, stop or StopToken()), []
    while True:
        try:
            events.append(next(stream))
        except StopIteration as end:
            return end.value, events


@pytest.fixture
def another_disk(monkeypatch):
    """Folders cannot be renamed to where the workspace goes."""

    def refuse(self, target):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(Path, "rename", refuse)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("disk", ["same", "another"])
def test_all_of_it_stands_at_the_new_place_and_nothing_at_the_old(trained, tmp_path, request, disk, is_there):
    before, target = contents(trained.root), tmp_path / "new" / "meadow"
    if is_there:
        target.mkdir(parents=True)
    if disk == "another":
        request.getfixturevalue("another_disk")
    workspace, events = moved(trained, target)
    assert workspace == Workspace(target)
    assert contents(target) == before
    assert not trained.root.exists()
    assert [path.name for path in target.parent.iterdir()] == ["meadow"]
    assert bool(events) == (disk == "another")
    with Library(workspace.library) as library:
        assert len(library.rows()) == 3


def test_what_was_copied_adds_up(trained, tmp_path, another_disk, small_blocks):
    _, events = moved(trained, tmp_path / "new")
    done = [event.bytes_done for event in events]
    assert done == sorted(done)
    assert done[-1] == events[0].bytes_total


def test_a_file_with_two_names_stays_one_file(trained, tmp_path, another_disk):
    kept = trained.root / "kept"
    kept.hardlink_to(trained.library)
    moved(trained, tmp_path / "new")
    assert (tmp_path / "new" / "kept").samefile(tmp_path / "new" / "library.sqlite")


@pytest.mark.parametrize("in_the_way", ["file", "folder", "inside", "itself"])
def test_where_it_cannot_stand_it_is_refused(trained, tmp_path, in_the_way):
    target = {"inside": trained.root / "runs" / "new", "itself": trained.root}.get(
        in_the_way, tmp_path / "new"
    )
    if in_the_way == "file":
        target.write_text("mine", encoding="utf-8")
    if in_the_way == "folder":
        target.mkdir()
        (target / "mine.txt").write_text("mine", encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(WorkspaceTargetError):
        moved(trained, target)
    assert contents(tmp_path) == before


def test_a_stop_leaves_the_old_one(trained, tmp_path, another_disk, small_blocks):
    before, stop = contents(trained.root), StopToken()
    stream = move_workspace(trained, tmp_path / "new" / "meadow", stop)
    next(stream)
    stop.set()
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == trained
    assert contents(trained.root) == before
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("when", ["before", "while copying"])
def test_a_full_disk_leaves_the_old_one(trained, tmp_path, another_disk, monkeypatch, when):
    before = contents(trained.root)
    if when == "before":
        usage = namedtuple("usage", "total used free")(1, 1, 0)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    else:

        def full(descriptor):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError):
        moved(trained, tmp_path / "new" / "meadow")
    assert contents(trained.root) == before
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_kill_in_the_middle_leaves_the_old_one_and_is_made_good(trained, tmp_path, another_disk):
    before, target = contents(trained.root), tmp_path / "new"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(trained.root), str(target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert contents(trained.root) == before
    assert not target.exists()
    moved(trained, target)
    assert contents(target) == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("held", [".import.lock", "runs/first/.lock"])
def test_while_another_program_works_in_it_it_stays(trained, tmp_path, held):
    with FileLock(trained.root / held), pytest.raises(WorkspaceBusyError):
        moved(trained, tmp_path / "new")
    assert trained.library.exists()


def test_what_changes_while_it_is_copied_is_not_lost(trained, tmp_path, another_disk):
    stream = move_workspace(trained, tmp_path / "new", StopToken())
    next(stream)
    (trained.root / "studio.log").write_text("a line", encoding="utf-8")
    with pytest.raises(WorkspaceBusyError):
        list(stream)
    assert (trained.root / "studio.log").exists()
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_must_not_be_written_is_said(trained, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(WorkspaceError):
        moved(trained, tmp_path / "closed" / "meadow")
    assert trained.library.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_kill_while_the_old_one_is_removed_leaves_the_new_one_and_a_rest_that_can_go(trained, tmp_path):
    before, target = contents(trained.root), tmp_path / "new"
    command = [sys.executable, "-c", KILLED_REMOVING, str(trained.root), str(target)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert contents(target) == before
    assert not trained.root.exists()
    assert module.remove_rest(trained.root)
    assert list(trained.root.parent.glob(f".*{module.LEFT}")) == []
    assert not module.remove_rest(trained.root)


def test_what_a_kill_has_left_of_a_copy_goes_unless_it_is_being_made(trained, tmp_path):
    target = tmp_path / "new"
    draft = tmp_path / f".new{module.DRAFT}"
    draft.mkdir()
    (draft / "half").write_text("half")
    with module.FileLock(module._lock(target)):
        assert not module.remove_rest(target)
        assert draft.exists()
    assert module.remove_rest(target)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".new")] == []


def test_remove_rests_returns_the_places_that_are_empty(tmp_path):
    moved, stands, untouched = (tmp_path / name for name in ("moved", "stands", "untouched"))
    for place in (moved, stands):
        (tmp_path / f".{place.name}{module.LEFT}" / "runs").mkdir(parents=True)
    stands.mkdir()
    assert [module.has_rest(place) for place in (moved, stands, untouched)] == [True, True, False]
    task = module.remove_rests([moved, stands, untouched], StopToken())
    with pytest.raises(StopIteration) as ended:
        next(task)
    assert ended.value.value == (moved,)
    assert [module.has_rest(place) for place in (moved, stands)] == [False, False]
