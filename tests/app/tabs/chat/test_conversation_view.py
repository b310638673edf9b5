"""The conversation view: what it shows, what a user can do in it, and that only what is seen is laid out."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from app.tabs.chat.conversation_view import ConversationView
from app.tabs.chat.document_style import MOST_SHADE, SHADE_COLOURS
from app.tabs.chat.shown_message import ShownMessage
from app.widgets.shade import contrast, shaded
from app.widgets.theme import colours
from core.events import TokenWritten
from tests.app.tabs.chat.messages import assistant, long_text, token, user

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def view(qtbot):
    view = ConversationView()
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    return view


def show(view, *messages):
    view.show_messages([ShownMessage(message) for message in messages])


def all_text(view):
    view.select_all()
    return view.selection.text()


def written(text, details=None):
    return TokenWritten(text, 1, 0.5, 5, details=details)


def write(view, text):
    """Let a text arrive in the reply, and lay it out as the timer does."""
    view.write([written(text)])
    view._show_waiting()


def scroll(view, place):
    view.verticalScrollBar().setValue(place)


def at_end(view):
    return view.verticalScrollBar().value() == view.verticalScrollBar().maximum()


def first_document(view, item=0, unit=0):
    return view.column.document_at(item, unit)[0]


def point_of(view, item, character):
    """The middle of a character, in the view."""
    place = view.column.rectangle(item, character, character + 1)
    return QPoint(round(place.center().x()), round(place.center().y() - view.verticalScrollBar().value()))


def formats(document):
    """Each stretch of a document with its format."""
    found, block = [], document.begin()
    while block.isValid():
        fragments = block.begin()
        while not fragments.atEnd():
            fragment = fragments.fragment()
            found.append((fragment.position(), fragment.text(), fragment.charFormat()))
            fragments += 1
        block = block.next()
    return found


def format_of(document, text):
    return next(look for _, shown, look in formats(document) if shown == text)


# Text is text


def test_html_is_shown_as_text(view):
    show(view, user("<b>bold</b>"), assistant("<i>x</i> &amp; <script>y</script>"))
    assert all_text(view) == "<b>bold</b>\n\n<i>x</i> & <script>y</script>"


def test_nothing_is_ever_loaded(view, monkeypatch):
    asked = []
    monkeypatch.setattr(QTextDocument, "loadResource", lambda *call: asked.append(call))
    show(view, assistant("![a](http://x.test/a.png) <img src='file:///b.png'> [c](http://x.test)"))
    view.grab()
    images = [look for _, _, look in formats(first_document(view)) if look.isImageFormat()]
    assert (asked, images) == ([], [])


def test_a_document_answers_no_request_for_a_resource(view):
    show(view, assistant("text"))
    assert (
        first_document(view).resource(QTextDocument.ResourceType.ImageResource, "file:///etc/hostname")
        is None
    )


def test_a_link_is_its_text_with_the_address_behind_it(view):
    show(view, assistant("See [the page](https://example.org/a)."))
    assert all_text(view) == "See the page (https://example.org/a)."
    assert not any(look.isAnchor() for _, _, look in formats(first_document(view)))


def test_what_a_document_would_drop_keeps_its_place(view):
    show(view, assistant("a\r\nb\ud800c\0d"))
    view.set_plain_text(True)
    assert all_text(view) == "a \nb\ufffdc\ufffdd"


# Markdown


def test_markdown_is_rendered(view):
    show(view, assistant("# Title\n\nSome **bold** `code`.\n\n- one\n- two\n\n1. first"))
    assert all_text(view) == "Title\nSome bold code.\n•  one\n•  two\n1. first"
    assert format_of(first_document(view), "bold").fontWeight() > 500
    assert format_of(first_document(view), "code").fontFixedPitch()


def test_a_table_is_copied_cell_by_cell(view):
    show(view, assistant("| a | b |\n|---|---|\n| 1 | 2 |\n\nend"))
    assert all_text(view) == "a\tb\n1\t2\nend"


def test_as_plain_text_the_signs_of_markdown_are_seen(view):
    show(view, assistant("# Title\n**bold**"))
    view.set_plain_text(True)
    assert all_text(view) == "# Title\n**bold**"


def test_what_the_user_typed_is_never_markdown(view):
    show(view, user("# no title\n* and no list"))
    assert all_text(view) == "# no title\n* and no list"


def test_code_is_coloured_by_its_language(view):
    show(view, assistant("```python\nreturn 1  # one\n```"))
    keyword = format_of(first_document(view), "return")
    assert keyword.foreground().color().name() == colours().accent


def test_code_of_a_language_nobody_knows_is_plain(view):
    show(view, assistant("```nonesuch\nreturn 1\n```"))
    assert len(formats(first_document(view))) == 1


def test_the_button_of_a_code_block_copies_all_of_it(view, qtbot):
    code = "\n".join(f"line_{n} = {n}" for n in range(400))
    show(view, assistant(f"Before\n```python\n{code}\n```\nafter"))
    scroll(view, 0)
    button = view.artist.copy_button(0, 1).center()
    qtbot.mouseClick(view.viewport(), LEFT, pos=button.toPoint())
    assert QGuiApplication.clipboard().text() == code


# A reply that is written


def test_a_streamed_reply_stands_below_its_question(view):
    show(view, user("Who?"))
    view.begin_reply(ShownMessage(assistant("")))
    for word in ("Mila ", "the ", "goat"):
        write(view, word)
    assert all_text(view) == "Who?\n\nMila the goat"


def test_a_continued_reply_begins_with_what_it_says_already(view):
    view.begin_reply(ShownMessage(assistant("Mila ")))
    write(view, "the goat")
    assert all_text(view) == "Mila the goat"


def test_only_the_last_segment_is_laid_out_anew(view):
    view.begin_reply(ShownMessage(assistant("")))
    write(view, long_text(6000))
    before = list(view.column.items[0].units)
    write(view, "one more word")
    now = view.column.items[0].units
    assert [a is b for a, b in zip(before, now, strict=True)] == [True] * (len(now) - 1) + [False]


def test_many_tokens_are_laid_out_together(view, qtbot, monkeypatch):
    view.begin_reply(ShownMessage(assistant("")))
    layouts = []
    monkeypatch.setattr(view.column.items[0], "grow", layouts.append)
    for _ in range(100):
        view.write([written("word ")])
    qtbot.waitUntil(lambda: bool(layouts))
    assert layouts == ["word " * 100]


def test_a_half_written_fence_is_a_code_block_already(view):
    view.begin_reply(ShownMessage(assistant("")))
    write(view, "Look:\n```python\nx = 1\n")
    assert [unit.segment.kind for unit in view.column.items[0].units] == ["prose", "code"]
    assert all_text(view) == "Look:\nx = 1"


@pytest.mark.parametrize("beginning", ["Look:\n``", "Look:\n`"])
def test_the_first_signs_of_a_fence_are_not_shown(view, beginning):
    view.begin_reply(ShownMessage(assistant("")))
    write(view, beginning)
    assert all_text(view) == "Look:"
    view.end_reply(ShownMessage(assistant(beginning)))
    assert all_text(view) == beginning  # it was none


def test_the_final_message_takes_the_place_of_the_written_one(view):
    view.begin_reply(ShownMessage(assistant("")))
    write(view, "Mila the goat STOP")
    view.end_reply(ShownMessage(assistant("Mila the goat", id="final", reason="stop_string")))
    assert (all_text(view), view.current_id()) == ("Mila the goat", "final")


def test_the_end_of_a_reply_is_announced_once(view, monkeypatch):
    said = []
    monkeypatch.setattr(view, "_announce", said.append)
    view.begin_reply(ShownMessage(assistant("")))
    write(view, "Mila ")
    write(view, "the goat")
    assert said == []
    view.end_reply(ShownMessage(assistant("Mila the goat")))
    assert said == ["Model: Mila the goat"]


def test_notes_and_an_early_end_are_said_below(view):
    show(view, assistant("Mila", notes=("Two turns were dropped.",), reason="length"))
    assert view.column.items[0].remarks == ["Two turns were dropped.", "Ended at the length limit"]


# Where the view is


def test_the_view_follows_a_reply_while_its_end_is_in_sight(view):
    show(view, *[user(long_text(300)) for _ in range(10)])
    view.begin_reply(ShownMessage(assistant("")))
    write(view, long_text(3000))
    assert at_end(view)
    assert not view.to_end_button.isVisible()


def test_the_view_stays_where_the_user_reads(view):
    show(view, *[user(long_text(300)) for _ in range(10)])
    view.begin_reply(ShownMessage(assistant("")))
    scroll(view, 40)
    before = view.viewport().grab().toImage()
    write(view, long_text(3000))
    assert view.verticalScrollBar().value() == 40
    assert view.viewport().grab().toImage() == before
    assert view.to_end_button.isVisible()


def test_the_button_leads_back_to_the_end_and_the_view_follows_again(view, qtbot):
    show(view, *[user(long_text(300)) for _ in range(10)])
    view.begin_reply(ShownMessage(assistant("")))
    scroll(view, 40)
    qtbot.mouseClick(view.to_end_button, LEFT)
    write(view, long_text(3000))
    assert at_end(view)


def test_what_is_laid_out_above_moves_nothing_in_sight(view):
    show(view, assistant(long_text(40_000)), user("the end"))
    scroll(view, view.verticalScrollBar().maximum() // 2)
    seen = view.column.character_at(view.in_column(QPointF(60, 200)))
    for _ in range(3):
        scroll(view, view.verticalScrollBar().value() - 30)
        scroll(view, view.verticalScrollBar().value() + 30)
    assert view.column.character_at(view.in_column(QPointF(60, 200))) == seen


def test_of_a_long_message_only_what_is_near_is_laid_out(view):
    show(view, assistant(long_text(400_000)))
    assert len(view.column.items[0].units) > 200
    for place in (0, 20_000, 60_000, 5_000):
        scroll(view, place)
        assert 0 < view.column.documents < 20


def test_of_many_messages_only_those_near_are_laid_out(view):
    show(view, *[user(f"Question {n}") for n in range(2000)])
    for place in (0, 50_000, 20_000):
        scroll(view, place)
        assert 0 < view.column.documents < 40


def test_one_line_without_end_is_cut_into_segments(view):
    show(view, assistant("x" * 20_000))
    assert max(unit.segment.last - unit.segment.first for unit in view.column.items[0].units) <= 3000
    assert all_text(view) == "x" * 20_000


def test_a_long_conversation_can_be_seen_from_its_beginning_to_its_end(view):
    show(view, user("The beginning"), assistant(long_text(30_000)), user("The end"))
    scroll(view, 0)
    assert view.column.character_at(view.in_column(point_of(view, 0, 0))) == (0, 0)
    QTest.keyClick(view, Qt.Key.Key_End)
    assert at_end(view)
    assert view.column.items_between(*visible(view)).stop == 3


def visible(view):
    top = view.verticalScrollBar().value()
    return top, top + view.viewport().height()


# Selecting


def test_text_is_selected_across_messages_and_copied(view):
    show(view, user("Hello goat"), assistant("I am **Mila** the goat"))
    QTest.mousePress(view.viewport(), LEFT, pos=point_of(view, 0, 6) - QPoint(3, 0))
    QTest.mouseMove(view.viewport(), point_of(view, 1, 10) + QPoint(3, 0))
    QTest.mouseRelease(view.viewport(), LEFT, pos=point_of(view, 1, 10))
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "goat\n\nI am Mila"


def test_shift_and_a_click_extend_the_selection(view):
    show(view, user("Hello goat"), assistant("I am Mila"))
    QTest.mouseClick(view.viewport(), LEFT, pos=point_of(view, 0, 6) - QPoint(3, 0))
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.mouseClick(view.viewport(), LEFT, shift, pos=point_of(view, 1, 3) + QPoint(3, 0))
    assert view.selection.text() == "goat\n\nI am"


def test_a_selection_is_seen(view):
    show(view, user("Hello goat"))
    before = view.viewport().grab().toImage()
    view.select_all()
    assert view.viewport().grab().toImage() != before


def test_all_of_a_long_conversation_is_copied_as_it_is(view):
    text = "\n".join(f"{n} {word}" for n, word in enumerate(long_text(30_000).split()))
    show(view, user(text), assistant("end 😀"))
    assert all_text(view) == f"{text}\n\nend 😀"


def test_a_double_click_selects_a_word(view):
    show(view, user("Hello goat"))
    QTest.mouseDClick(view.viewport(), LEFT, pos=point_of(view, 0, 8))
    assert view.selection.text() == "goat"


# What can be done with a message


def hover(view, item):
    QTest.mouseMove(view.viewport(), QPoint(1, 1))  # no event comes of a mouse that is there already
    QTest.mouseMove(view.viewport(), point_of(view, item, 0))


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("regenerate", "regenerate_requested"),
        ("continue", "continue_requested"),
        ("seen", "seen_requested"),
    ],
)
def test_a_button_below_a_message_asks_for_it(view, qtbot, name, signal):
    show(view, user("Hi"), assistant("Mila", id="reply"))
    hover(view, 1)
    with qtbot.waitSignal(getattr(view, signal)) as asked:
        qtbot.mouseClick(view.actions_row.button(name), LEFT)
    assert asked.args == ["reply"]


def test_the_buttons_are_there_for_the_keyboard_too(view, qtbot):
    show(view, user("Hi"), assistant("Mila"))
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    assert view.actions_row.isVisible()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert view.actions_row.isAncestorOf(view.focusWidget())
    assert view.actions_row.isVisible()


def test_a_question_offers_no_regenerating(view):
    show(view, user("Hi"), assistant("Mila"))
    hover(view, 0)
    assert not view.actions_row.button("regenerate").isVisible()


def test_versions_are_gone_through(view, qtbot):
    view.show_messages([ShownMessage(assistant("Mila", id="reply"), 2, 3)])
    hover(view, 0)
    assert view.actions_row.version.text() == "2 / 3"
    with qtbot.waitSignal(view.version_requested) as asked:
        qtbot.mouseClick(view.actions_row.previous, LEFT)
    assert asked.args == ["reply", -1]


def test_while_a_reply_is_written_no_other_can_be_asked_for(view):
    show(view, user("Hi"))
    view.begin_reply(ShownMessage(assistant("")))
    hover(view, 0)
    assert not view.actions_row.button("edit").isEnabled()
    assert view.actions_row.button("copy").isEnabled()


def test_a_message_is_edited_in_its_place(view, qtbot):
    show(view, user("Hi", id="question"))
    hover(view, 0)
    qtbot.mouseClick(view.actions_row.button("edit"), LEFT)
    field = view.editing.field
    assert field.text.toPlainText() == "Hi"
    field.text.setPlainText("Who?")
    with qtbot.waitSignal(view.edit_requested) as asked:
        QTest.keyClick(field.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked.args == ["question", "Who?"]
    assert view.editing.field is None


def test_escape_leaves_the_message_as_it_was(view, qtbot):
    show(view, user("Hi"))
    height = view.column.height
    view.editing.begin(0)
    with qtbot.assertNotEmitted(view.edit_requested):
        QTest.keyClick(view.editing.field.text, Qt.Key.Key_Escape)
    assert view.editing.field is None
    assert view.column.height == height


def test_alt_and_the_arrows_go_from_message_to_message(view):
    show(view, user("Hi", id="first"), assistant("Mila", id="second"))
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert view.current_id() == "first"
    assert "You: Hi" in view.accessibleDescription()


def test_control_and_the_wheel_ask_for_larger_letters(view, qtbot):
    show(view, user("Hi"))
    before = view.column.items[0].height
    view.set_font_size(view.font().pointSizeF() * 1.5)
    assert view.column.items[0].height > before


# Tokens

WORDS = ("Mila", " is", " a", " goat", ".")


def tokens(words=WORDS):
    return tuple(token(number, word, 0.9 - 0.2 * number) for number, word in enumerate(words))


def reply(**more):
    return assistant("".join(WORDS), tokens=tokens(), id="reply", **more)


@pytest.mark.parametrize("shading", ["probability", "entropy"])
def test_shades_cover_exactly_the_text(view, shading):
    show(view, user("Hi"), reply())
    view.set_shading(shading)
    shaded = [text for _, text, look in formats(first_document(view, 1)) if look.background().style()]
    assert "".join(shaded) == "Mila is a goat."
    assert len(shaded) == len(WORDS)


def test_the_less_likely_token_has_the_stronger_shade(view):
    show(view, reply())
    view.set_shading("probability")
    document = first_document(view)
    fills = [format_of(document, word).background().color() for word in ("Mila", " is", ".")]
    strengths = [contrast(fill, QColor(colours().surface)) for fill in fills]
    assert strengths == sorted(strengths)


def test_while_tokens_are_shaded_the_signs_of_markdown_are_seen(view):
    words = ("**", "bold", "**")
    show(view, assistant("**bold**", tokens=tokens(words)), assistant("**other**"))
    view.set_shading("probability")
    assert all_text(view) == "**bold**\n\nother"


def test_a_reply_is_shaded_while_it_is_written(view):
    view.set_shading("probability")
    view.begin_reply(ShownMessage(assistant("")))
    for one in tokens():
        view.write([written(one.text, one)])
    view._show_waiting()
    assert [text for _, text, _ in formats(first_document(view))] == list(WORDS)


def test_the_legend_is_there_while_tokens_are_shaded(view):
    show(view, reply())
    view.set_shading("entropy")
    assert view.legend.isVisible()
    view.set_shading("none")
    assert not view.legend.isVisible()


def test_pointing_at_a_token_shows_what_was_considered(view):
    show(view, reply())
    QTest.mouseMove(view.viewport(), point_of(view, 0, 6))
    popup = view.tokens.popup
    assert popup.isVisible()
    assert popup.title.text() == "' is'"
    assert popup.facts.text() == "Probability 70 % · rank 2 · entropy 2.50 bits"
    assert popup.alternatives.model().rowCount() == 10
    QTest.mouseMove(view.viewport(), QPoint(300, 390))
    assert not popup.isVisible()


def test_a_token_is_found_in_markdown(view):
    words = ("I ", "am ", "**", "Mila", "**")
    show(view, assistant("".join(words), tokens=tokens(words)))
    QTest.mouseMove(view.viewport(), point_of(view, 0, 8))
    assert view.tokens.token().text == "Mila"


def test_a_clicked_token_keeps_its_popup_and_an_alternative_is_chosen(view, qtbot):
    show(view, reply())
    qtbot.mouseClick(view.viewport(), LEFT, pos=point_of(view, 0, 6))
    QTest.mouseMove(view.viewport(), QPoint(300, 390))
    popup = view.tokens.popup
    assert popup.isVisible()
    row = popup.alternatives.visualRect(popup.alternatives.model().index(3, 0)).center()
    with qtbot.waitSignal(view.alternative_chosen) as asked:
        qtbot.mouseClick(popup.alternatives.viewport(), LEFT, pos=row)
    assert asked.args == ["reply", 1, 3]
    assert not popup.isVisible()


def test_tokens_are_walked_with_the_keys(view, qtbot):
    show(view, reply())
    view.setFocus()
    for key in (Qt.Key.Key_T, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Return):
        QTest.keyClick(view, key)
    popup = view.tokens.popup
    assert popup.title.text() == "' is'"
    with qtbot.waitSignal(view.alternative_chosen) as asked:
        QTest.keyClick(popup.alternatives, Qt.Key.Key_Down)
        QTest.keyClick(popup.alternatives, Qt.Key.Key_Return)
    assert asked.args == ["reply", 1, 1]


def test_escape_ends_the_walk(view):
    show(view, reply())
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_T)
    assert view.tokens.token() is not None
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert view.tokens.token() is None


def test_without_a_model_no_alternative_can_be_chosen(view, qtbot):
    show(view, reply())
    view.set_can_reply(False)
    qtbot.mouseClick(view.viewport(), LEFT, pos=point_of(view, 0, 6))
    assert not view.tokens.popup.alternatives.isEnabled()


def test_passages_that_stand_in_the_documents_are_underlined(view):
    show(view, reply())
    view.mark_passages("reply", [(5, 9)])
    underlined = [
        text
        for _, text, look in formats(first_document(view))
        if look.fontUnderline() or look.underlineStyle().value
    ]
    assert underlined == ["is a"]


def test_inspect_here_names_the_character(view, qtbot):
    show(view, reply())
    found = view.column.character_at(view.in_column(point_of(view, 0, 6)))
    assert found == (0, 6)


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_menu_offers_what_the_buttons_do(view, qtbot):
    show(view, user("Hi"), assistant("```py\nx\n```", id="reply"))
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Return)
    menu = view.findChild(QMenu, "messageMenu")
    titles = [entry.text() for entry in menu.actions()]
    assert "Copy code block 1 (py)" in titles
    entry = menu.actions()[titles.index("Regenerate")]
    with qtbot.waitSignal(view.regenerate_requested) as asked:
        QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(entry).center())
    assert asked.args == ["reply"]


@pytest.mark.parametrize("appearance", ["light", "dark"])
@pytest.mark.parametrize("shading", ["probability", "entropy"])
def test_shaded_words_can_be_read(theme, appearance, shading):
    theme.choose(appearance)
    ratios = [contrast(*shaded(MOST_SHADE * step / 100, SHADE_COLOURS[shading])) for step in range(101)]
    assert min(ratios) >= 4.5
