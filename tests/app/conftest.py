"""What every test of the window stands on: no screen is needed, and no thread may outlive its test."""

import gc
import os

os.environ["QT_QPA_PLATFORM"] = (
    "offscreen"  # before Qt loads: a screen would make the tests depend on a desktop
)

import pytest

from app import settings
from app.jobs.job import Job
from app.widgets.theme import Theme


def pytest_configure(config):
    # The one warning that is the platform's, not ours: offscreen has no window manager to tell sizes to.
    config.addinivalue_line("qt_log_ignore", "This plugin does not support propagateSizeHints")


@pytest.fixture(autouse=True)
def garbage_goes_between_tests():
    """As in the program (app/jobs/garbage.py): not in the middle of a call of Qt's, which then waits for ever."""
    gc.disable()
    yield
    gc.collect()
    gc.freeze()  # what is left is the modules': the next test's collection need not look at it
    gc.enable()


@pytest.fixture(autouse=True)
def personal_file(monkeypatch, tmp_path):
    """The user's own choices on this machine are none of a test's."""
    file = tmp_path / "personal.ini"
    monkeypatch.setattr(settings, "personal_file", lambda: file)
    return file


@pytest.fixture(autouse=True)
def no_thread_left_behind():
    yield
    left = list(Job.running)
    for job in left:
        job.stop()
        job.wait(5000)
    Job.running.clear()
    assert not left, "the test ended while a job was running"


@pytest.fixture(scope="module")
def theme(qapp):
    """The program's dress, style sheet and all, taken off again behind the last test of a file."""
    palette, style = qapp.palette(), qapp.style().objectName()
    made = Theme(qapp, "light")
    made.put_on_style_sheet()
    yield made
    qapp.styleHints().colorSchemeChanged.disconnect(made._follow)
    made.deleteLater()
    qapp.setStyleSheet("")
    qapp.setStyle(style)
    qapp.setPalette(palette)
