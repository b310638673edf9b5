import pytest

from core.bench import importing as task
from core.bench import made_files as bench_files
from core.bench.importing import bench_import
from core.bench.made_files import Prose, write_texts
from core.control import StopToken
from core.errors.base import BadSettingError
from core.events.bench import BenchMeasured


@pytest.fixture(autouse=True)
def few_files(monkeypatch):
    for name, value in {
        "PDF_FILES": 2,
        "PDF_PAGES": 2,
        "SCANS": 1,
        "TEXT_FILES": 4,
        "TEXT_BYTES": 2_000,
    }.items():
        monkeypatch.setattr(task, name, value)
    for name, value in {"LINES_ON_SCAN": 2, "WORDS": 300, "PARAGRAPHS": 40}.items():
        monkeypatch.setattr(bench_files, name, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "unit", "subjects"),
    [
        ("pdf", "pages/s", ["one process with pypdf", "ours"]),
        ("ocr", "pages/s", ["one Tesseract process", "ours"]),
        (
            "text",
            "MB/s",
            ["reading and decoding alone", "ours, into the library", "ours, searchable and compared"],
        ),
    ],
)
def test_each_part_is_timed_beside_its_peer(part, unit, subjects):
    rows = list(bench_import(part, 1, StopToken()))
    assert [row.subject for row in rows] == subjects
    assert all(isinstance(row, BenchMeasured) and row.unit == unit and row.rate > 0 for row in rows)


def test_a_bench_that_is_stopped_makes_no_files_and_measures_nothing(monkeypatch):
    monkeypatch.setattr(task, "_bench", lambda *_: pytest.fail("it began"))
    stop = StopToken()
    stop.set()
    assert not list(bench_import("all", 1, stop))


def test_an_unknown_part_is_reported_with_those_there_are():
    with pytest.raises(BadSettingError, match="it is all or one of pdf, ocr, text, tokens"):
        list(bench_import("everything", 1, StopToken()))


def test_the_same_seed_writes_the_same_texts_and_no_two_are_alike(tmp_path):
    sizes = [write_texts(tmp_path / name, 6, 3_000) for name in ("one", "two")]
    first, second = (
        [path.read_text() for path in sorted((tmp_path / name).rglob("*.*"))] for name in ("one", "two")
    )
    assert first == second
    assert len(set(first)) == 6
    assert sizes[0] == sizes[1] >= 6 * 3_000
    assert Prose(1).text(100) != Prose(2).text(100)
