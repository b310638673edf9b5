"""Events are handed on in portions, in order, and none is lost."""

import pytest

from app.tabs.corpus.event_pump import PORTION, EventPump
from core.events.documents import FileReading, FilesQueued, QueuedFile


@pytest.fixture
def handed(qtbot):
    """A pump, and the portions that came out of it."""
    pump = EventPump()
    pump.portions = []
    pump.portion.connect(pump.portions.append)
    return pump


MANY = FilesQueued(tuple(QueuedFile(f"/docs/{n}", "text", 1) for n in range(PORTION)))


def test_a_few_events_are_handed_on_at_once(handed):
    handed.put([FileReading("/docs/a"), FileReading("/docs/b")])
    assert handed.portions == [[FileReading("/docs/a"), FileReading("/docs/b")]]


def test_many_rows_come_one_portion_a_frame(qtbot, handed):
    handed.put([MANY, MANY, FileReading("/docs/a")])
    assert handed.portions == [[MANY]]
    qtbot.waitUntil(lambda: handed.portions == [[MANY], [MANY], [FileReading("/docs/a")]])


def test_what_comes_later_waits_behind(qtbot, handed):
    handed.put([MANY, MANY])
    handed.put([FileReading("/docs/a")])
    qtbot.waitUntil(lambda: handed.portions == [[MANY], [MANY], [FileReading("/docs/a")]])


def test_flushing_hands_on_all_of_it(handed):
    handed.put([MANY, MANY, FileReading("/docs/a")])
    handed.flush()
    assert handed.portions == [[MANY], [MANY], [FileReading("/docs/a")]]
