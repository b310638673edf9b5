"""Each run keeps what belongs to it, the newest opens by itself, and the one open model is shared with other tabs."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from app.model_slot import ModelInUseError
from app.tabs.chat.controller import ChatController
from core.config.sampling import SamplingConfig
from tests.app.tabs.chat.gestures import choose, shown, type_and_send

LEFT = Qt.MouseButton.LeftButton


# Several conversations


def say(tab, qtbot, controller, models, prompt, *words):
    """Send a prompt and wait for the reply that is made of `words`."""
    models.words = list(words)
    models.allow(len(words))
    type_and_send(tab, qtbot, prompt)
    qtbot.waitUntil(lambda: not controller.active)


def open_run(controller, qtbot, name):
    controller.open(name, "")
    qtbot.waitUntil(lambda: controller.slot.model is not None)


def test_each_run_keeps_its_conversation_sampling_and_mode(tab, opened, models, qtbot):
    say(tab, qtbot, opened, models, "Where?", "Here.")
    tab.sampling.set_value(SamplingConfig(temperature=0.1))
    choose(tab.model_bar.mode_box, 1)
    open_run(opened, qtbot, "second")
    assert shown(tab) == []
    assert tab.sampling.value() == SamplingConfig(temperature=0.5)
    assert not tab.model_bar.continues
    open_run(opened, qtbot, "first")
    assert shown(tab) == ["Where?", "Here."]
    assert tab.sampling.value() == SamplingConfig(temperature=0.1)
    assert tab.model_bar.continues


def test_a_conversation_that_came_back_tells_its_context(tab, opened, models, qtbot):
    say(tab, qtbot, opened, models, "Where?", "Here.")
    figures = (tab.status.text(), tab.context_bar.value())
    open_run(opened, qtbot, "second")
    assert tab.context_bar.value() == 0
    open_run(opened, qtbot, "first")
    assert (tab.status.text(), tab.context_bar.value()) == figures


def test_there_is_no_context_bar_without_a_model(tab, controller, qtbot):
    assert not tab.context_bar.isVisible()
    open_run(controller, qtbot, "first")
    assert tab.context_bar.isVisible()


def test_a_conversation_that_came_back_goes_on(tab, opened, models, qtbot):
    say(tab, qtbot, opened, models, "Where?", "Here.")
    open_run(opened, qtbot, "second")
    open_run(opened, qtbot, "first")
    say(tab, qtbot, opened, models, "Why?", "Because.")
    assert models.asked[-1][1] == [("user", "Where?"), ("assistant", "Here."), ("user", "Why?")]


def test_after_a_new_chat_the_earlier_conversation_can_be_brought_back(tab, opened, models, qtbot):
    say(tab, qtbot, opened, models, "Where?", "Here.")
    qtbot.mouseClick(tab.new_button, LEFT)
    assert tab.banner.isVisible()
    back = next(b for b in tab.banner.findChildren(QPushButton) if "Back" in b.text())
    qtbot.mouseClick(back, LEFT)
    assert shown(tab) == ["Where?", "Here."]
    assert not tab.earlier_button.isEnabled()


def press(button, qtbot):
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)


def begin_anew(tab, qtbot):
    press(tab.new_button, qtbot)


def go_back(tab, qtbot):
    begin_anew(tab, qtbot)
    press(next(b for b in tab.banner.findChildren(QPushButton) if "Back" in b.text()), qtbot)


@pytest.mark.parametrize("begin", [begin_anew, go_back])
def test_a_conversation_in_front_has_the_keyboard(tab, opened, models, qtbot, begin):
    say(tab, qtbot, opened, models, "Where?", "Here.")
    begin(tab, qtbot)
    assert tab.focusWidget() is tab.prompt


def test_earlier_conversations_stay_in_the_menu_when_the_new_one_goes_on(tab, opened, models, qtbot):
    for prompt in ("Where?", "When?"):
        say(tab, qtbot, opened, models, prompt, "Here.")
        qtbot.mouseClick(tab.new_button, LEFT)
    say(tab, qtbot, opened, models, "Why?", "Because.")
    tab.earlier_button.menu().aboutToShow.emit()
    entries = tab.earlier_button.menu().actions()
    assert [entry.text() for entry in entries] == ["When?", "Where?"]
    entries[1].trigger()
    assert shown(tab) == ["Where?", "Here."]
    assert tab.focusWidget() is tab.prompt
    say(tab, qtbot, opened, models, "Really?", "Yes.")
    assert shown(tab) == ["Where?", "Here.", "Really?", "Yes."]


def test_a_reply_that_is_left_keeps_what_was_written(tab, opened, models, qtbot):
    type_and_send(tab, qtbot, "Where?")
    models.allow(1)
    qtbot.waitUntil(lambda: shown(tab) == ["Where?", "Mila "])
    open_run(opened, qtbot, "second")
    open_run(opened, qtbot, "first")
    assert shown(tab) == ["Where?", "Mila "]


def test_sampling_that_cannot_be_is_left_behind_with_its_run(tab, opened, qtbot):
    tab.findChild(QWidget, "sampling.top_p").lineEdit().setText("2")
    open_run(opened, qtbot, "second")
    open_run(opened, qtbot, "first")
    assert tab.sampling.value() == SamplingConfig(temperature=0.5)


# The model that all tabs share


def test_a_model_that_another_tab_opens_is_the_chats_as_well(tab, opened, slot, models, qtbot):
    say(tab, qtbot, opened, models, "Where?", "Here.")
    slot.open("second", "best", "Inspect")
    qtbot.waitUntil(lambda: slot.model is not None)
    assert tab.model_bar.run_box.currentText().startswith("second")
    assert shown(tab) == []


def test_while_a_reply_is_written_no_other_tab_gets_another_model(tab, opened, slot, models, qtbot):
    type_and_send(tab, qtbot, "Where?")
    with pytest.raises(ModelInUseError):
        slot.open("second", "best", "Inspect")
    models.allow(3)
    qtbot.waitUntil(lambda: not opened.active)
    slot.open("second", "best", "Inspect")
    qtbot.waitUntil(lambda: slot.model is not None)


def test_while_another_tab_works_with_the_model_the_chat_keeps_it_and_says_so(tab, opened, slot, qtbot):
    slot.lease("Inspect", "capturing a pass")
    choose(tab.model_bar.run_box, tab.model_bar.run_box.findText("second", Qt.MatchFlag.MatchStartsWith))
    assert tab.banner.text().startswith("The open model is in use: Inspect is capturing a pass.")
    assert tab.model_bar.run_box.currentText().startswith("first")


# Opening the newest run by itself


def test_the_newest_run_opens_when_the_tab_is_first_looked_at(tab, controller, models, qtbot):
    assert models.asked == []
    controller.activate()
    qtbot.waitUntil(lambda: controller.slot.model is not None)
    assert models.asked == [("open", "first", "best")]
    assert not tab.banner.isVisible()


def test_while_a_model_is_on_its_way_the_tab_says_so(tab, controller, slot, qtbot):
    controller.activate()
    assert tab.status.text() == "Opening first…"
    assert tab.opening.isVisible()
    qtbot.waitUntil(lambda: slot.model is not None)
    assert not tab.opening.isVisible()


def test_the_newest_run_opens_once_the_runs_are_listed(tab, slot, workspace, queues, qtbot):
    controller = ChatController(tab, slot, workspace, queues, tab)
    controller.activate()
    controller.refresh()
    qtbot.waitUntil(lambda: slot.model is not None)
    assert slot.model.name == "first"


def test_what_was_chosen_stays_open(controller, models, qtbot):
    open_run(controller, qtbot, "second")
    controller.activate()
    assert models.asked == [("open", "second", "best")]


def test_a_hidden_tab_opens_nothing_when_a_run_ends(tab, slot, workspace, queues, models, qtbot):
    controller = ChatController(tab, slot, workspace, queues, tab)
    controller.activate()
    tab.hide()
    controller.refresh()
    qtbot.waitUntil(queues.at_rest)
    assert models.asked == []


def test_opening_takes_no_cursor_out_of_the_sampling(tab, controller, qtbot):
    field = tab.findChild(QWidget, "sampling.temperature").lineEdit()
    field.setFocus()
    controller.activate()
    qtbot.waitUntil(lambda: controller.slot.model is not None)
    assert tab.focusWidget() is not tab.prompt


@pytest.mark.qt_log_ignore("This plugin does not support")  # raising a menu, and its grab
def test_opening_takes_no_keyboard_out_of_an_open_menu(tab, controller, qtbot):
    tab.model_bar.run_box.setFocus()
    menu = QMenu(tab)
    menu.addAction("Dark")
    menu.popup(tab.mapToGlobal(tab.rect().center()))
    controller.activate()
    qtbot.waitUntil(lambda: controller.slot.model is not None)
    assert tab.focusWidget() is not tab.prompt
    menu.close()


def test_a_run_that_was_never_trained_does_not_open_by_itself(tab, slot, workspace, queues, models, qtbot):
    for step in (200, 500):
        workspace.run("first").checkpoint(step).rmdir()
    workspace.run("first").checkpoint(0).mkdir()
    ChatController(tab, slot, workspace, queues, tab).activate()
    qtbot.waitUntil(lambda: slot.model is not None)
    assert models.asked == [("open", "second", "best")]


def test_a_run_that_was_trained_meanwhile_is_there_when_the_tab_comes_to_the_front(
    tab, slot, workspace, queues, qtbot
):
    ChatController(tab, slot, workspace, queues, tab).activate()
    qtbot.waitUntil(tab.model_bar.has_runs)
