"""The page that stands where there is nothing to show yet."""

import pytest
from PySide6.QtCore import Qt

from app.widgets.empty_state import card_button


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_a_key_presses_the_focused_button(qtbot, key):
    button = card_button("Try it", "tryButton", "sample", "Try it now", True)
    qtbot.addWidget(button)
    with qtbot.waitSignal(button.clicked):
        qtbot.keyClick(button, key)
