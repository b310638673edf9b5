"""Remarks about a run's curves: shown with their one action, walked through, closed, and forgotten with their steps."""

import pytest
from PySide6.QtCore import Qt

from app.tabs.train.remark_strip import RemarkStrip
from core.config.remark_actions import BACK_TO_BEST, HALVE_LEARNING_RATE, STOP, TITLES
from core.events import RemarkMade
from tests.app.tabs.train.conftest import prepared

LEFT = Qt.MouseButton.LeftButton


def remark(step, action=STOP, message="The validation loss rises."):
    return RemarkMade(step, "overfitting", message, "Stop.", action)


@pytest.fixture
def strip(qtbot):
    strip = RemarkStrip()
    qtbot.addWidget(strip)
    strip.resize(900, 60)
    strip.set_possible(live=True, resumable=False, finished=False)
    return strip


def test_it_comes_with_the_first_remark(strip):
    assert strip.isHidden()
    strip.show_events([remark(1200)])
    assert strip.isVisible()
    assert strip.sentence.text() == "Step 1,200: The validation loss rises."
    assert strip.sentence.accessibleName() == "Step 1,200: The validation loss rises. Stop."
    assert not strip.place.isVisible()


def test_the_newest_is_in_front_and_the_earlier_ones_can_be_seen(strip, qtbot):
    strip.show_events([remark(1, message="One."), remark(2, message="Two.")])
    strip.show_events([remark(3, message="Three.")])
    assert ("Three." in strip.sentence.text(), strip.place.text()) == (True, "3/3")
    qtbot.mouseClick(strip.earlier_button, LEFT)
    assert "Two." in strip.sentence.text()
    qtbot.mouseClick(strip.earlier_button, LEFT)
    assert not strip.earlier_button.isEnabled()
    qtbot.mouseClick(strip.later_button, LEFT)
    assert strip.place.text() == "2/3"


def test_its_button_asks_for_the_action_of_the_remark_in_front(strip, qtbot):
    strip.show_events([remark(1, STOP), remark(2, HALVE_LEARNING_RATE)])
    assert strip.action_button.text() == TITLES[HALVE_LEARNING_RATE]
    qtbot.mouseClick(strip.earlier_button, LEFT)
    with qtbot.waitSignal(strip.action_requested) as asked:
        qtbot.mouseClick(strip.action_button, LEFT)
    assert asked.args == [STOP]


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ({"live": True, "resumable": False, "finished": False}, {STOP, BACK_TO_BEST, HALVE_LEARNING_RATE}),
        ({"live": False, "resumable": True, "finished": False}, {BACK_TO_BEST, HALVE_LEARNING_RATE}),
        ({"live": False, "resumable": True, "finished": True}, {BACK_TO_BEST}),
        ({"live": False, "resumable": False, "finished": False}, set()),
    ],
)
def test_only_what_makes_sense_is_offered(strip, state, offered):
    strip.set_possible(**state)
    shown = set()
    for action in (STOP, BACK_TO_BEST, HALVE_LEARNING_RATE, ""):
        strip.show_events([remark(1, action)])
        if strip.action_button.isVisible():
            shown.add(action)
    assert shown == offered


def test_closed_it_comes_back_with_the_next_remark(strip, qtbot):
    strip.show_events([remark(1)])
    qtbot.mouseClick(strip.close_button, LEFT)
    strip.show_events([prepared(start_step=1)])
    assert strip.isHidden()
    strip.show_events([remark(2)])
    assert strip.isVisible()


def test_a_run_that_goes_back_takes_its_later_remarks_along(strip):
    strip.show_events([remark(100), remark(300)])
    strip.show_events([prepared(start_step=200)])
    assert strip.sentence.text().startswith("Step 100:")
    strip.show_events([prepared(start_step=50)])
    assert strip.isHidden()


def test_the_keyboard_is_never_left_on_a_button_that_is_off(strip, qtbot):
    strip.show_events([remark(1), remark(2)])
    strip.earlier_button.setFocus()
    qtbot.keyClick(strip.earlier_button, Qt.Key.Key_Space)
    assert strip.focusWidget() is strip.later_button
