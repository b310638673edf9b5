import os
from pathlib import Path

import pytest

from core.documents.folders import find_files, refuse_missing
from core.errors import MissingPathError


def names(*paths: Path) -> list[str]:
    return [file.path.name for file in find_files(paths)]


def test_folders_are_searched_to_the_bottom_in_order_of_names(tmp_path):
    for name in ("b/2.txt", "b/1.txt", "a/deep/er/x.txt", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert names(tmp_path) == ["x.txt", "1.txt", "2.txt", "c.txt"]


def test_hidden_files_are_skipped_unless_they_are_named(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").touch()
    (tmp_path / ".profile").touch()
    assert names(tmp_path) == []
    assert names(tmp_path / ".profile", tmp_path / ".git") == [".profile", "config"]


def test_a_loop_of_links_ends(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").touch()
    (tmp_path / "folder" / "again").symlink_to(tmp_path)
    assert names(tmp_path) == ["a.txt"]


def test_a_link_to_itself_is_a_file_that_cannot_be_opened(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (file,) = find_files([tmp_path])
    assert (file.state, file.problem.split(":")[0]) == ("failed", "loop could not be opened")


def test_a_pipe_is_listed_and_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (file,) = find_files([tmp_path])
    assert file.state == "unsupported"
    assert "pipe or a device" in file.problem


def test_a_file_that_is_named_twice_is_found_once(tmp_path):
    (tmp_path / "a.txt").touch()
    assert names(tmp_path, tmp_path / "a.txt", tmp_path / "." / "a.txt") == ["a.txt"]


def test_a_path_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(MissingPathError, match="nowhere does not exist"):
        refuse_missing([tmp_path, tmp_path / "nowhere"])
