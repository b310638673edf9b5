"""A banner says one thing at a time, until it is closed."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.errors import DEFECT, present
from app.widgets.banner import Banner
from core.errors.base import EmptyCorpusError


@pytest.fixture
def banner(qtbot):
    banner = Banner()
    qtbot.addWidget(banner)
    return banner


def test_it_is_not_there_until_there_is_something_to_say(banner):
    assert not banner.isVisible()


def test_a_problem_is_reported_with_its_remedy(banner):
    banner.show_problem("The disk is full.", "Free some space.")
    assert banner.isVisible()
    assert banner.text() == "The disk is full. Free some space."


def test_the_text_stands_in_the_label_that_assistive_tools_look_for(banner):
    banner.show_notice("Tesseract is not installed.")
    assert banner.findChild(QLabel, "bannerLabel").text() == "Tesseract is not installed."


def test_the_next_message_replaces_the_one_before(banner):
    banner.show_problem("One.", "Two.")
    banner.show_notice("Three.")
    assert banner.text() == "Three."


def test_its_button_closes_it(qtbot, banner):
    banner.show_notice("Read.")
    qtbot.mouseClick(banner.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert not banner.isVisible()


def test_problems_and_notices_look_different(banner):
    banner.show_problem("One.", "")
    problem = banner.property("role")
    banner.show_notice("Two.")
    assert banner.property("role") != problem


def test_a_failure_that_was_foreseen_is_reported_in_its_own_words(banner):
    error = EmptyCorpusError()
    present(error, banner)
    assert banner.text() == f"{error.message} {error.remedy}"


def test_a_defect_is_owned_and_never_quoted(banner):
    present(KeyError("secret"), banner)
    assert banner.text().startswith(DEFECT)
    assert "secret" not in banner.text()


def test_an_offer_is_answered_by_a_button_that_also_closes_it(qtbot, banner):
    go_on, forget = QAction("&Go on"), QAction("&Forget")
    banner.show_offer("An import was interrupted.", [go_on, forget])
    button = next(button for button in banner.findChildren(QPushButton) if button.text() == "&Go on")
    with qtbot.waitSignal(go_on.triggered):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not banner.isVisible()


def test_the_next_message_takes_the_buttons_away(qtbot, banner):
    banner.show_offer("An import was interrupted.", [QAction("&Go on", banner)])
    banner.show_notice("Two.")
    qtbot.waitUntil(lambda: not banner.findChildren(QPushButton))


def test_what_the_system_refuses_is_reported_as_such(banner):
    present(OSError(24, "Too many open files", "library.sqlite"), banner)
    assert banner.text().startswith(
        "The system refused library.sqlite: too many open files. Close other programs"
    )


def test_the_focus_goes_back_to_where_it_was_when_a_button_closes_the_banner(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    first, field, banner = QLineEdit(), QLineEdit(), Banner()
    for widget in (first, field, banner):
        column.addWidget(widget)
    with qtbot.waitActive(page):
        page.show()
        page.activateWindow()
    field.setFocus()
    banner.show_offer("It was removed.", [QAction("&Undo", page)])
    button = next(button for button in banner.findChildren(QPushButton) if button.text() == "&Undo")
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert not banner.isVisible()
    assert field.hasFocus()
