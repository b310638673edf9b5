import random
from pathlib import Path

import pytest

from core.bench import fuzz_import as task
from core.bench.fuzz_import import DAMAGES, damaged, fuzz_import
from core.bench.seed_files import seed_files
from core.control import StopToken
from core.errors.bench import FuzzFailedError
from core.events.documents import FileImported, ImportFinished


def imported(path: Path, state: str = "failed", reason: str = "", seconds: float = 1.0) -> FileImported:
    return FileImported(str(path), state, reason, "", 0, 0, 0, -1.0, 1, seconds)


@pytest.fixture
def ends(monkeypatch):
    """Puts another import in place of the real one: it ends files as the given function says."""

    def install(end_file) -> None:
        def import_files(paths, config, workspace, stop):
            for path in paths:
                yield from end_file(path)
            yield ImportFinished(0, 0, 0, 0, 0, 0.0)

        monkeypatch.setattr(task, "import_files", import_files)

    return install


def fuzz(tmp_path: Path, seconds: float = 0.001) -> list:
    return list(fuzz_import(seconds, 1, tmp_path / "kept", StopToken()))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("content", [b"", b"a", b"a meadow" * 200])
def test_every_damage_can_be_done_to_every_size(damage, content):
    for seed in range(50):
        damage(content, random.Random(seed))


def test_the_same_seed_does_the_same_damage():
    once, again = (damaged(b"meadow" * 99, random.Random(7), [b"hill"]) for _ in range(2))
    assert once == again != b"meadow" * 99


def test_there_is_a_seed_of_every_kind():
    names = [name for name, _ in seed_files()]
    assert len(set(names)) == len(names)
    assert {Path(name).suffix for name in names} >= {
        ".txt",
        ".pdf",
        ".docx",
        ".odt",
        ".epub",
        ".zip",
        ".sqlite",
    }


def test_states_and_reasons_are_counted(ends, tmp_path):
    ends(lambda path: [imported(path, reason="It is damaged.")])
    (report,) = fuzz(tmp_path)
    assert report.files == 100
    assert report.states == (("failed", 100),)
    assert report.reasons == (("It is damaged.", 100),)
    assert not report.broken


def test_a_file_that_broke_its_reader_is_kept(ends, tmp_path):
    ends(lambda path: [imported(path, reason="Its reader crashed (SIGSEGV).")])
    (report,) = fuzz(tmp_path)
    assert len(report.broken) == 100
    assert all(Path(kept).parent == tmp_path / "kept" and Path(kept).is_file() for kept in report.broken)


@pytest.mark.parametrize(
    ("end_file", "told"),
    [
        (lambda _: [], "came to 0 ends"),
        (lambda path: [imported(path), imported(path)], "came to 2 ends"),
        (lambda path: [imported(path, "reading")], "ended as reading"),
        (lambda path: [imported(path, seconds=1000.0)], "after 1000 s"),
    ],
)
def test_a_file_that_does_not_end_as_it_should_ends_the_fuzzing(ends, tmp_path, end_file, told):
    ends(end_file)
    with pytest.raises(FuzzFailedError, match=told):
        fuzz(tmp_path)


@pytest.mark.parametrize(
    "end_file",
    [
        lambda _: iter(()),
        lambda path: iter([imported(path, state="reading")]),
        lambda path: iter([imported(path, seconds=10_000.0)]),
    ],
)
def test_the_file_of_a_broken_promise_is_kept(ends, tmp_path, end_file):
    ends(end_file)
    with pytest.raises(FuzzFailedError) as failed:
        fuzz(tmp_path)
    kept = failed.value.args[0]
    assert kept.parent == tmp_path / "kept"
    assert kept.is_file()
    assert str(kept) in failed.value.remedy
