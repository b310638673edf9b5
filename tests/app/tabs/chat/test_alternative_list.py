"""The likeliest tokens of one place, to choose from."""

import pytest

from app.tabs.chat.view.alternative_list import AlternativeList
from core.events.replies import Alternative

ROWS = [Alternative(number, f"word{number}", 0.5 / (number + 1)) for number in range(5)]


@pytest.fixture
def alternatives(qtbot):
    made = AlternativeList()
    qtbot.addWidget(made)
    made.show_alternatives(ROWS, written=2)
    made.show()
    return made


def test_all_rows_are_in_sight_and_nothing_below_them(alternatives):
    last = alternatives.visualRect(alternatives.model().index(len(ROWS) - 1, 0))
    assert last.height() > 0
    assert 0 <= alternatives.viewport().height() - last.bottom() < last.height()


def test_a_click_chooses_the_token(alternatives, qtbot):
    with qtbot.waitSignal(alternatives.chosen) as chosen:
        alternatives.clicked.emit(alternatives.model().index(3, 0))
    assert chosen.args == [3]
