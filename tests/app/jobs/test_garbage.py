"""Garbage is collected between events in the window's thread, and nowhere else."""

import gc
import threading

import pytest
from PySide6.QtCore import QObject

from app.jobs import garbage
from app.jobs.garbage import GarbageCollector
from app.jobs.job import Job


@pytest.fixture
def collector(qtbot, monkeypatch):
    monkeypatch.setattr(garbage, "INTERVAL_MS", 10)
    collector = GarbageCollector()
    yield collector
    collector.release()


def make_cycle(ends):
    """A QObject that only a collection destroys; the thread in which it goes is noted."""
    made = QObject()
    made.itself = made
    made.destroyed.connect(lambda: ends.append(threading.current_thread()))


def allocates(stop):
    kept = []
    while not stop.asked:
        kept = [[] for _ in range(5000)]  # far more than Python's threshold
        yield len(kept)


def test_cycles_go_in_the_window_s_thread_while_a_worker_allocates(qtbot, collector):
    ends, job = [], Job(allocates)
    job.start()
    for _ in range(20):
        make_cycle(ends)
    qtbot.waitUntil(lambda: len(ends) == 20)
    with qtbot.waitSignal(job.ended):
        job.stop()
    assert set(ends) == {threading.main_thread()}


def test_nothing_is_collected_between_two_ticks(collector):
    ends = []
    make_cycle(ends)
    assert [[] for _ in range(100_000)]
    assert not ends


def test_what_modules_bring_is_set_apart_once(collector, monkeypatch):
    gc.unfreeze()
    collector.collect()
    collector.collect()
    apart = gc.get_freeze_count()
    assert apart > 1000
    collector.collect()
    assert gc.get_freeze_count() == apart


def test_released_it_leaves_python_as_it_was(qtbot):
    collector = GarbageCollector()
    assert not gc.isenabled()
    collector.release()
    assert gc.isenabled()
