"""Libraries of three sizes are measured, and how each figure grows."""

import pytest

from core.bench import made_files
from core.bench.library import bench_library
from core.bench.made_files import write_documents
from core.control import StopToken

PARAGRAPHS = [
    f"Paragraph {n}: {'goat meadow mill ' * (n % 5 + 1)}{n * 7919}.\n\n".encode() for n in range(400)
]


@pytest.fixture(autouse=True)
def few_paragraphs(monkeypatch):
    monkeypatch.setattr(made_files, "_paragraphs", lambda: PARAGRAPHS)


def test_no_file_repeats_another_and_together_they_are_as_large_as_asked(tmp_path):
    written = write_documents(tmp_path, 40, 80_000)
    texts = {path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert len(texts) == 40
    assert sum(map(len, texts)) == written
    assert 80_000 <= written < 90_000


@pytest.mark.slow
def test_each_figure_is_measured_at_three_sizes_and_its_growth_told(tmp_path, command):
    options = "--documents", 400, "--megabytes", 1, "--keep", tmp_path
    code, out, _ = command("bench", "library", *options, "--workspace", tmp_path / "own")
    assert code == 0
    for words in ("4 files", "40 files", "400 files"):
        for figure in ("import", "list", "search", "filter", "removal", "watched save", "data set"):
            assert any(words in line and f" {figure} " in line for line in out.splitlines())
    assert "data set, growth" in out
    assert (tmp_path / "library-400" / "workspace" / "library.sqlite").exists()
    assert not (tmp_path / "library-400" / "files").exists()


def test_a_bench_that_is_stopped_measures_nothing(tmp_path):
    stop = StopToken()
    stop.set()
    assert [fact.subject for fact in bench_library(100, 10_000, tmp_path, stop)] == []
