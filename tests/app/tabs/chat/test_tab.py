"""What stands beside the conversation, and the keys that lead there."""

import pytest

from tests.app.tabs.chat.gestures import press


@pytest.fixture
def ready(tab, opened):
    tab.prompt.setFocus()
    return tab


def test_a_narrow_tab_has_no_list_until_it_is_asked_for(ready, qtbot):
    assert ready.list.isVisible()
    ready.resize(1100, 700)
    assert not ready.list.isVisible()
    press(ready, qtbot, "Ctrl+B")
    assert ready.list.isVisible()


def test_a_list_that_was_hidden_stays_hidden_in_a_wider_tab(ready, qtbot):
    press(ready, qtbot, "Ctrl+B")
    ready.resize(1100, 700)
    ready.resize(1300, 700)
    assert not ready.list.isVisible()


def test_hiding_the_list_leaves_the_keyboard_to_the_prompt(ready, qtbot):
    press(ready, qtbot, "Ctrl+K")
    assert ready.focusWidget() is ready.list.search_box
    press(ready, qtbot, "Ctrl+B")
    assert ready.focusWidget() is ready.prompt


def test_a_key_leads_to_the_sampling(ready, qtbot):
    ready.panel_button.setChecked(False)
    assert not ready.panel.isVisible()
    press(ready, qtbot, "Ctrl+,")
    assert ready.panel.has_in_front(ready.sampling)
    assert ready.panel.isAncestorOf(ready.focusWidget())


def test_the_pages_of_the_panel_take_turns(ready, qtbot):
    for page in (ready.next_token, ready.seen, ready.sampling):
        ready.panel.show_page(page)
        assert ready.panel.has_in_front(page)


def test_the_next_token_is_seen_together_with_the_sliders(ready):
    ready.panel.show_page(ready.next_token)
    assert ready.next_token.isVisible() and ready.sampling.isVisible()
    ready.panel.show_page(ready.seen)
    assert not ready.next_token.isVisible() and not ready.sampling.isVisible()


def test_the_list_comes_back_behind_a_comparison(ready):
    ready.show_compare(True)
    assert not ready.list.isVisible()
    ready.show_compare(False)
    assert ready.list.isVisible()
