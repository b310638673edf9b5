"""Who looks at something else is told that a run has ended."""

import pytest
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.window.notification import Notifier


@pytest.fixture
def told(monkeypatch):
    """The messages that the system was asked to show."""
    messages = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _self, _title, text, *_: messages.append(text))
    monkeypatch.setattr(QSystemTrayIcon, "show", lambda _self: None)
    monkeypatch.setattr(QApplication, "alert", staticmethod(lambda _window, *_: messages.append("alert")))
    return messages


def make(qtbot, monkeypatch, *, in_front):
    window = QWidget()
    qtbot.addWidget(window)
    monkeypatch.setattr(window, "isActiveWindow", lambda: in_front)
    return Notifier(window, window)


@pytest.mark.parametrize(
    ("reason", "words"),
    [("finished", "all its steps"), ("failed", "an error"), ("early_stopped", "stopped early")],
)
def test_an_end_is_told_to_who_is_elsewhere(qtbot, monkeypatch, told, reason, words):
    make(qtbot, monkeypatch, in_front=False).show_ended("night", reason)
    assert told[0] == "alert"
    assert told[1].startswith("night ")
    assert words in told[1]


def test_nothing_is_told_while_the_window_is_in_front(qtbot, monkeypatch, told):
    make(qtbot, monkeypatch, in_front=True).show_ended("night", "finished")
    assert told == []


def test_a_run_that_the_user_stopped_is_no_news(qtbot, monkeypatch, told):
    make(qtbot, monkeypatch, in_front=False).show_ended("night", "stopped")
    assert told == []


def test_without_a_tray_the_window_is_marked_alone(qtbot, monkeypatch, told):
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: False))
    make(qtbot, monkeypatch, in_front=False).show_ended("night", "finished")
    assert told == ["alert"]
