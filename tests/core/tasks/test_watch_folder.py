"""A watched folder tells of what is new or changed, once it is whole, and of nothing else."""

import shutil

import pytest

from core.control import StopToken
from core.corpus.duplicates import digest_text
from core.corpus.library import Library
from core.corpus.reading import Digested
from core.documents.document import Document
from core.errors import MissingPathError
from core.runs.folder import Workspace
from core.tasks import watch_folder as module
from core.tasks.watch_folder import Growing, watch_folder


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "meadow"
    folder.mkdir()
    return folder


@pytest.fixture
def stop():
    return StopToken()


@pytest.fixture
def watching(tmp_path, folder, stop, monkeypatch):
    """The stream of a folder in which a.txt lies, with short waits."""
    monkeypatch.setattr(module, "POLL_MS", 50)
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.1)
    (folder / "a.txt").write_text("baa", encoding="utf-8")
    stream = watch_folder(Workspace(tmp_path), folder, stop)
    yield stream
    stream.close()


def names(event):
    return [path.rpartition("/")[2] for path in event.paths]


def test_it_begins_with_what_the_library_lacks(watching):
    assert names(next(watching)) == ["a.txt"]


def test_a_file_that_was_read_and_has_not_changed_is_left_alone(tmp_path, folder, watching):
    known = folder / "known.txt"
    known.write_text("baa", encoding="utf-8")
    document = Document(str(known), "text", sha256="x", text="baa")
    with Library(Workspace(tmp_path).library) as library:
        status = known.stat()
        digested = Digested(document, digest_text("baa"))
        library.record(str(known), digested, status.st_size, modified_ns=status.st_mtime_ns)
    assert names(next(watching)) == ["a.txt"]


def test_new_and_changed_files_are_told(folder, watching):
    next(watching)
    (folder / "b.txt").write_text("baa", encoding="utf-8")
    assert names(next(watching)) == ["b.txt"]
    (folder / "a.txt").write_text("baa baa", encoding="utf-8")
    assert names(next(watching)) == ["a.txt"]


def test_a_folder_that_is_moved_in_brings_its_files(tmp_path, folder, watching):
    next(watching)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c.txt").write_text("baa", encoding="utf-8")
    (tmp_path / "outside").rename(folder / "inside")
    assert names(next(watching)) == ["c.txt"]


def test_hidden_files_are_left_alone(folder, watching):
    next(watching)
    (folder / ".draft.txt").write_text("baa", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("baa", encoding="utf-8")
    (folder / "b.txt").write_text("baa", encoding="utf-8")
    assert names(next(watching)) == ["b.txt"]


def test_a_stop_ends_it(stop, watching):
    next(watching)
    stop.set()
    assert list(watching) == []


def test_a_folder_that_goes_away_is_told(folder, watching):
    next(watching)
    shutil.rmtree(folder)
    with pytest.raises(MissingPathError):
        next(watching)


def test_a_folder_that_is_not_there_is_told_at_once(tmp_path, stop):
    with pytest.raises(MissingPathError):
        next(watch_folder(Workspace(tmp_path), tmp_path / "nowhere", stop))


def test_a_file_that_still_grows_waits(folder, monkeypatch):
    clock = iter([0.0, 5.0, 10.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    file = folder / "large.txt"
    file.write_text("b", encoding="utf-8")
    growing = Growing()
    growing.add([file])
    assert growing.take_still() == []
    file.write_text("baa", encoding="utf-8")
    assert growing.take_still() == []
    assert growing.take_still() == [str(file)]
