"""The bubbles: what they say, and when the view follows."""

import pytest
from PySide6.QtGui import QTextCursor

from app.tabs.chat.conversation import Turn
from app.tabs.chat.conversation_view import ConversationView
from app.widgets.theme import colours


@pytest.fixture
def view(qtbot):
    view = ConversationView()
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    return view


def many_turns(count):
    return [Turn(f"Question {n}", False, f"Answer {n}\nin two lines") for n in range(count)]


def lines(view):
    return [line for line in view.toPlainText().splitlines() if line]


def ink_of(view, text):
    cursor = view.document().find(text)
    assert isinstance(cursor, QTextCursor)
    return cursor.charFormat().foreground().color().name()


def scroll(view, place):
    view.verticalScrollBar().setValue(place)


def at_end(view):
    return view.verticalScrollBar().value() == view.verticalScrollBar().maximum()


def test_a_streamed_reply_stands_below_its_prompt(view):
    turn = Turn("Who?", False)
    view.begin(turn)
    for word in ("Mila ", "the ", "goat"):
        turn.reply += word
        view.write(word)
    assert lines(view) == ["Who?", "Mila the goat"]


def test_a_continued_text_is_one_text_in_two_colours(view):
    view.begin(Turn("Once upon a time", True))
    view.write(" there was a goat")
    assert lines(view) == ["Once upon a time there was a goat"]
    assert ink_of(view, "Once upon") == colours().text
    assert ink_of(view, "there was") == colours().accent


def test_notes_stand_below_the_reply_that_goes_on_above_them(view):
    turn = Turn("Who?", False)
    view.begin(turn)
    turn.notes.append("The context was full.")
    view.write("Mila ")
    view.write("the goat")
    assert lines(view) == ["Who?", "Mila the goat", "The context was full."]
    assert ink_of(view, "The context") == colours().muted


def test_the_view_follows_a_reply_while_its_end_is_in_sight(view):
    view.show_turns(many_turns(20))
    view.begin(Turn("And then?", False))
    assert at_end(view)
    view.write("word " * 300)
    assert at_end(view)


def test_the_view_stays_where_the_user_reads(view):
    view.show_turns(many_turns(20))
    view.begin(Turn("And then?", False))
    scroll(view, 40)
    view.write("word " * 300)
    assert view.verticalScrollBar().value() == 40


def test_the_view_follows_again_once_the_end_is_back_in_sight(view):
    view.show_turns(many_turns(20))
    view.begin(Turn("And then?", False))
    scroll(view, 40)
    view.write("word " * 300)
    scroll(view, view.verticalScrollBar().maximum())
    view.write("word " * 300)
    assert at_end(view)


def test_long_words_break_instead_of_widening_the_view(view):
    view.begin(Turn("x" * 500, False))
    view.write("y" * 500)
    assert view.horizontalScrollBar().maximum() == 0


def test_markup_in_a_reply_is_shown_as_it_is(view):
    view.begin(Turn("<b>bold</b>", False))
    view.write("<i>&amp;</i>")
    assert lines(view) == ["<b>bold</b>", "<i>&amp;</i>"]


def test_a_change_of_theme_writes_all_anew(view, qapp):
    view.show_turns([Turn("Once", True, " upon", ["A note."])])
    before = lines(view)
    palette = qapp.palette()
    changed = qapp.palette()
    changed.setColor(
        changed.ColorRole.Window, "#101010" if palette.window().color().lightness() > 127 else "#f0f0f0"
    )
    qapp.setPalette(changed)
    try:
        assert lines(view) == before
    finally:
        qapp.setPalette(palette)


def test_bubbles_lean_to_their_speakers_side(view):
    view.show_turns([Turn("Hi", False, "Hello")])
    user, reply = (view._bubble(frame) for frame in view._frames())
    assert user.left() > view.viewport().width() / 2
    assert reply.left() < 20
    assert reply.right() < view.viewport().width() / 2
