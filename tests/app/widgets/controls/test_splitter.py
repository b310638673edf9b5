"""Borders between parts of a page stay where the user has put them; whatever a file says of them does no harm."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.widgets.controls.splitter import Splitter


@pytest.fixture
def splitter(qtbot):
    made = Splitter("splitter", Qt.Orientation.Horizontal, [QWidget(), QWidget()], [300, 100])
    qtbot.addWidget(made)
    made.resize(400 + made.handleWidth(), 100)
    made.show()
    return made


def test_nothing_is_remembered_before_a_border_was_moved(splitter):
    assert splitter.state() == ""


def test_sizes_come_back(splitter):
    splitter.moveSplitter(120, 1)
    state = splitter.state()
    splitter.setSizes([200, 200])
    splitter.set_state(state)
    assert splitter.sizes()[0] == 120
    assert splitter.state() == state


def test_a_part_that_is_hidden_later_keeps_its_size(splitter):
    splitter.moveSplitter(120, 1)
    splitter.widget(0).hide()
    assert splitter.state().startswith("120,")


@pytest.mark.parametrize("state", ["", "x", "1", "1,2,3", "0,0", "-1,2", "9999999,1", "1,2\n", "٣,٤"])
def test_what_no_splitter_has_said_is_passed_over(splitter, state):
    before = splitter.sizes()
    splitter.set_state(state)
    assert (splitter.sizes(), splitter.state()) == (before, "")
