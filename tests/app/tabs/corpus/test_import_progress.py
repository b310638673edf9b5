"""Progress counts files, and tells the time left only when it can."""

import pytest

from app.tabs.corpus.progress import ImportProgress, spoken_time
from core.events import FileImported, FileWritten, ImportStarted


class Clock:
    """A clock that stands until it is set."""

    now = 0.0

    def __call__(self):
        return self.now


def read(size):
    return FileImported("/docs/a", "done", "", "text", 0, 10, 1, -1.0, size)


def test_until_the_files_are_known_it_says_what_is_done_meanwhile():
    progress = ImportProgress()
    assert progress.text() == "Looking for files"
    progress.show_events([FileWritten("/a", 1), FileWritten("/b", 1)])
    assert progress.text() == "Writing the sample corpus: 2 files"


def test_the_time_left_follows_the_bytes():
    clock = Clock()
    progress = ImportProgress(clock)
    progress.show_events([ImportStarted(files=4, bytes=400)])
    clock.now = 30.0
    progress.show_events([read(100)])
    assert progress.text() == "1 of 4 files · about 2 min left"


def test_nothing_is_foretold_from_the_first_second():
    clock = Clock()
    progress = ImportProgress(clock)
    progress.show_events([ImportStarted(files=4, bytes=400), read(100)])
    assert progress.text() == "1 of 4 files"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(2, "a few seconds"), (38, "about 40 s"), (170, "about 3 min"), (7300, "about 2 h")],
)
def test_spans_of_time_are_said_roughly(seconds, said):
    assert spoken_time(seconds) == said
