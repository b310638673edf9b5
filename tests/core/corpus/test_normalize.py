import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.corpus.normalize import (
    compose,
    drop_control_characters,
    drop_trailing_spaces,
    fold_blank_lines,
    normalize,
    unify_line_ends,
)

KINDS = ["text", "markdown", "code", "pdf", "image", "conversation"]
TRICKY = st.text(st.sampled_from("ab \t\r\n\f\v\x00\x85\u2028\ufeff\u200be\u0301"), max_size=30)


@given(TRICKY | st.text(), st.sampled_from(KINDS))
def test_cleaning_twice_is_cleaning_once(text, kind):
    once = normalize(text, kind)
    assert normalize(once, kind) == once


def test_an_accent_joins_its_letter():
    assert compose("e\u0301") == "é"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\f", "\v", "\x85", "\u2028", "\u2029"])
def test_every_line_ends_alike(end):
    assert unify_line_ends(f"a{end}b") == "a\nb"


def test_control_characters_go_and_tabs_stay():
    assert drop_control_characters("\ufeffa\x00b\x1b\tc\x7f\n") == "ab\tc\n"


def test_signs_that_join_emoji_or_break_markers_stay():
    assert drop_control_characters("👩\u200d🌾 <\u200beos>") == "👩\u200d🌾 <\u200beos>"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\n \n\t\n\nb", "a\n\nb"),
        ("a\n\nb\nc", "a\n\nb\nc"),
        ("\n\n\na", "\na"),
        ("a\n\n\n", "a\n\n"),
    ],
)
def test_runs_of_blank_lines_become_one(text, folded):
    assert fold_blank_lines(text) == folded


def test_spaces_at_the_end_of_lines_go_from_text():
    assert drop_trailing_spaces("a  \n b\t\nc ") == "a\n b\nc"


@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_spaces_at_the_end_of_lines_stay_where_they_may_mean_something(kind):
    assert normalize("a  \nb\n", kind) == "a  \nb\n"


@given(st.lists(st.sampled_from([" ", "\t"]), max_size=6), st.sampled_from(KINDS))
def test_indentation_is_never_touched(spaces, kind):
    line = "".join(spaces) + "return x\n"
    assert normalize("def f(x):\n" + line, kind) == "def f(x):\n" + line
