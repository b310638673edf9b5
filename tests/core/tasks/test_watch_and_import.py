"""A watched folder's files come into the library, whatever their names."""

import os
import sys
from pathlib import Path

import pytest

from core.config.corpus import ImportConfig
from core.control import StopToken
from core.events import FileImported, FilesChanged
from core.runs.folder import Workspace
from core.tasks import watch_and_import as module
from core.tasks.import_files import OWN_FILES_LEFT_OUT
from core.tasks.watch_and_import import watch_and_import


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_no_utf_8_are_read_and_what_has_gone_is_left_out(tmp_path, monkeypatch):
    folder = tmp_path / "meadow"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("baa", encoding="utf-8")
    paths = (str(folder / r"caf\xe9.txt"), str(folder / "gone.txt"))
    monkeypatch.setattr(module, "watch_folder", lambda *_: iter([FilesChanged(paths)]))
    events = watch_and_import(folder, ImportConfig(), Workspace(tmp_path / "w"), StopToken())
    ended = [event for event in events if isinstance(event, FileImported)]
    assert [(event.path, event.state) for event in ended] == [(paths[0], "done")]


@pytest.mark.parametrize("watched", ["", "workspace", "workspace/runs", "meadow"])
def test_the_workspace_is_said_to_be_left_out_once_where_it_is_watched(tmp_path, monkeypatch, watched):
    (tmp_path / "meadow").mkdir()
    workspace = Workspace(tmp_path / "workspace")
    workspace.prepare()
    monkeypatch.setattr(module, "watch_folder", lambda *_: iter([FilesChanged(()), FilesChanged(())]))
    monkeypatch.setattr(module, "import_files", lambda *_: iter(()))
    events = list(watch_and_import(tmp_path / watched, ImportConfig(), workspace, StopToken()))
    assert events.count(OWN_FILES_LEFT_OUT) == (watched != "meadow")
