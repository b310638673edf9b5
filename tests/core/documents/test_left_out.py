"""A folder that is left out is left out by whichever path it is reached."""

import os
from pathlib import Path

import pytest

from core.documents.folders import find_files
from core.documents.left_out import LeftOut


@pytest.fixture
def workspace(tmp_path) -> Path:
    for name in (
        "workspace/library.sqlite",
        "workspace/runs/a/b.txt",
        "workspace/sample/s.txt",
        "docs/d.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path / "workspace"


@pytest.fixture
def found(workspace, monkeypatch):
    """The names that a search finds, and whether it met the folder."""
    monkeypatch.chdir(workspace.parent)

    def search(*paths: str | Path) -> tuple[list[str], bool]:
        left_out = LeftOut(workspace, but=workspace / "sample")
        names = [file.source.name for file in find_files(list(map(Path, paths)), left_out)]
        return names, left_out.was_met

    return search


@pytest.mark.parametrize(
    "path",
    [
        "workspace",
        "docs/../workspace",
        "workspace/runs",
        "workspace/runs/a/b.txt",
        "workspace/library.sqlite",
        "workspace/old.zip/inner.txt",
        "workspace/gone.txt",
    ],
)
def test_nothing_in_it_is_found_however_it_is_named(found, workspace, path):
    (workspace / "old.zip").write_bytes(b"PK")
    assert found(path) == ([], True)


def test_a_search_of_what_holds_it_goes_around_it(found, workspace):
    assert found(workspace.parent) == (["d.txt"], True)
    assert found("docs") == (["d.txt"], False)


def test_the_folder_that_is_allowed_is_found_where_it_is_named(found):
    assert found("workspace/sample", "workspace/sample/s.txt") == (["s.txt"], False)


def test_links_into_it_lead_nowhere(found, workspace):
    docs = workspace.parent / "docs"
    (docs / "all").symlink_to(workspace)
    (docs / "part").symlink_to(workspace / "runs")
    (docs / "file.txt").symlink_to(workspace / "runs" / "a" / "b.txt")
    (docs / "loop").symlink_to(docs / "loop")
    names, was_met = found("docs")
    assert (names, was_met) == (["d.txt", "loop"], True)
    assert found("docs/all") == found("docs/file.txt") == found("docs/part/a") == ([], True)


def test_it_is_left_out_where_it_is_a_link_itself(workspace, tmp_path):
    (tmp_path / "link").symlink_to(workspace)
    left_out = LeftOut(tmp_path / "link", but=tmp_path / "link" / "sample")
    assert [file.source.name for file in find_files([tmp_path], left_out)] == ["d.txt"]
    assert [file.source.name for file in find_files([workspace / "sample"], left_out)] == ["s.txt"]


def test_it_lies_below_what_holds_it_only(workspace, tmp_path):
    left_out = LeftOut(workspace, but=workspace / "sample")
    assert left_out.lies_below(tmp_path)
    assert left_out.lies_below(Path(os.sep))
    assert not left_out.lies_below(tmp_path / "docs")
    assert not left_out.lies_below(tmp_path / "gone")
