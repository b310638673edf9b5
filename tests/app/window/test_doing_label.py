"""The end of the status bar names the work of the window, and says where it is held back."""

import pytest

from app.window.main_window import DoingLabel
from tests.app.conftest import endless


@pytest.fixture
def label(qtbot, queues):
    label = DoingLabel(queues)
    qtbot.addWidget(label)
    return label


def test_it_names_what_works_and_is_empty_at_rest(qtbot, queues, label):
    training, chat = (
        queues.start("training", endless, doing="Training"),
        queues.start("chat", endless, doing="Writing"),
    )
    assert label.text() == "Training   Writing"
    for job in (training, chat):
        job.stop()
    qtbot.waitUntil(lambda: label.text() == "")


def test_a_paused_job_is_told_from_one_that_works(qtbot, queues, label):
    job = queues.start("training", endless, doing="Training")
    job.pause()
    assert label.text() == "Training (paused)"
    job.resume()
    assert label.text() == "Training"
    job.pause()
    with qtbot.waitSignal(job.ended):
        job.stop()
    qtbot.waitUntil(lambda: label.text() == "")
