import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from core.config.corpus import ImportConfig
from core.documents import isolation
from core.documents.document import Document
from core.documents.isolation import KnownBytes, ReaderPool
from core.errors import UnreadableDocumentError


@pytest.fixture
def open_pool(monkeypatch):
    """Pools whose workers do what a file says; none of their processes outlives the test."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import hostile_reader

    yield partial(ReaderPool, reader=hostile_reader.read)
    assert not [child for child in isolation.multiprocessing.active_children() if child.name == "reader"]


def read_all(pool, folder, *texts):
    """What became of one file for each text, in the order of the texts."""
    paths = [folder / f"{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    waiting, outcomes = list(paths), {}
    while len(outcomes) < len(paths):
        while waiting and pool.has_room:
            pool.start(waiting.pop(0))
        outcomes |= dict(pool.ended(0.1))
    return [outcomes[path] for path in paths]


def wait_for_one(pool):
    """What became of the only file that is being read."""
    while not (ended := pool.ended(30)):
        continue
    return ended[0].outcome


def test_a_reader_that_crashes_or_swells_costs_only_its_own_file(open_pool, tmp_path):
    with open_pool(ImportConfig(memory_mib=256), 1) as pool:
        outcomes = read_all(pool, tmp_path, "fine", "crash", "swell", "defect", "fine")
    assert [str(outcome) for outcome in outcomes[1:4]] == [
        "1.txt could not be read: its reader crashed (SIGABRT).",
        "2.txt could not be read: it needs more memory than its reader may have.",
        "3.txt could not be read: its reader failed with KeyError.",
    ]
    assert all(isinstance(outcome, Document) for outcome in (outcomes[0], outcomes[4]))


def test_a_reader_that_hangs_is_given_up_and_the_others_go_on(open_pool, tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "GRACE_SECONDS", 0.5)
    with open_pool(ImportConfig(file_seconds=1), 2) as pool:
        outcomes = read_all(pool, tmp_path, "hang", "fine", "fine")
    assert str(outcomes[0]) == "0.txt could not be read: it took longer than 1 second."
    assert all(isinstance(outcome, Document) for outcome in outcomes[1:])


def test_a_file_that_ended_while_nobody_asked_is_not_late(open_pool, tmp_path, monkeypatch):
    with open_pool(ImportConfig(), 1) as pool:
        read_all(pool, tmp_path, "fine")
        pool.start(tmp_path / "0.txt")
        (worker,) = pool._busy.values()
        assert worker.connection.poll(30)
        monkeypatch.setattr(isolation, "GRACE_SECONDS", -1000)
        ((_, outcome),) = pool.ended(1)
    assert isinstance(outcome, Document)


def test_workers_that_cannot_be_started_are_no_files_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "_serve", os._exit)  # called with a pipe, it ends with a TypeError
    (tmp_path / "0.txt").write_text("fine")
    with ReaderPool(ImportConfig(), 1) as pool:
        pool.start(tmp_path / "0.txt")
        with pytest.raises(RuntimeError, match="could not be started"):
            pool.ended(30)


def test_workers_need_neither_torch_nor_the_window(open_pool, tmp_path):
    with open_pool(ImportConfig(), 1) as pool:
        (outcome,) = read_all(pool, tmp_path, "modules")
    assert isinstance(outcome, Document)
    assert outcome.text == "[], 1"


def test_closing_does_not_wait_for_what_is_being_read(open_pool, tmp_path):
    (tmp_path / "0.txt").write_text("hang")
    with open_pool(ImportConfig(), 1) as pool:
        pool.start(tmp_path / "0.txt")
        assert not pool.has_room
        assert pool.reading == [tmp_path / "0.txt"]
        started = time.monotonic()
    assert time.monotonic() - started < 1


def test_bytes_that_are_known_are_not_read_again(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello")
    known = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    with ReaderPool(ImportConfig(), 1) as pool:
        pool.start(tmp_path / "a.txt", frozenset({known}))
        outcome = wait_for_one(pool)
    assert outcome == KnownBytes(known)


def test_a_worker_that_dies_between_two_files_is_replaced(open_pool, tmp_path):
    with open_pool(ImportConfig(), 1) as pool:
        read_all(pool, tmp_path, "fine")
        (worker,) = pool._idle
        os.kill(worker._process.pid, 9)
        worker._process.join()
        (outcome,) = read_all(pool, tmp_path, "fine")
    assert isinstance(outcome, Document)


def test_a_missing_file_is_told_as_missing_even_where_its_size_was_known(tmp_path):
    with ReaderPool(ImportConfig(), 1) as pool:
        pool.start(tmp_path / "gone.txt", frozenset({"0"}))
        outcome = wait_for_one(pool)
    assert isinstance(outcome, UnreadableDocumentError)
    assert "no such file" in outcome.message


def test_a_worker_is_deaf_to_ctrl_c_from_its_first_moment(open_pool, tmp_path):
    with open_pool(ImportConfig(), 1) as pool:
        (tmp_path / "fine.txt").write_text("fine", encoding="utf-8")
        pool.start(tmp_path / "fine.txt")
        for child in isolation.multiprocessing.active_children():
            os.kill(child.pid, signal.SIGINT)  # as a terminal does, while it still imports
        assert isinstance(wait_for_one(pool), Document)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
