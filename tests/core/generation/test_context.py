"""A full context keeps whole turns of a conversation, and the question in hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.generation.context import DialogueText, PlainText, Shortened
from core.tokenizers.tokenizer import EOS

USER, ASSISTANT = 90, 91
CONVERSATION = DialogueText(USER, ASSISTANT)


def turns(*lengths):
    """Questions and answers in turn, of so many tokens; each token is the number of its message."""
    ids = [EOS]
    for number, length in enumerate(lengths):
        ids += [ASSISTANT if number % 2 else USER, *[10 + number] * length]
    return ids


def test_everything_stays_where_it_fits():
    ids = turns(2, 3, 4, 0)
    assert CONVERSATION.shorten(ids, 20, 4) == Shortened(ids)


def test_the_oldest_question_goes_with_its_answer():
    ids = turns(3, 3, 2, 2, 4, 0)  # 1 + 8 + 6 + 6
    assert CONVERSATION.shorten(ids, 16, 3).ids == [EOS, *ids[9:]]
    assert CONVERSATION.shorten(ids, 16, 4).ids == [EOS, *ids[15:]]


def test_an_answer_being_written_stays_whole_while_past_turns_can_go():
    ids = turns(3, 3, 2, 9)
    assert CONVERSATION.shorten(ids, 16, 2).ids == [EOS, *ids[9:]]


def test_a_question_that_is_too_long_keeps_its_newest_part_after_its_role_token():
    ids = [EOS, USER, *range(10, 40), ASSISTANT]
    assert CONVERSATION.shorten(ids, 12, 2) == Shortened([EOS, USER, *range(33, 40), ASSISTANT], True)


def test_a_long_answer_gives_way_before_its_question_does():
    ids = [EOS, USER, 10, 11, 12, ASSISTANT, *range(20, 50)]
    expected = [EOS, USER, 10, 11, 12, ASSISTANT, *range(44, 50)]
    assert CONVERSATION.shorten(ids, 16, 4) == Shortened(expected)


def test_a_reply_that_needs_little_room_costs_the_prompt_little():
    assert [CONVERSATION.reserved_tokens(128, tokens) for tokens in (5, 32, 1000)] == [5, 32, 32]
    assert PlainText().reserved_tokens(128, 5) == 0


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(lambda lengths: len(lengths) % 2 == 0),
    st.integers(2, 40),
    st.integers(1, 50),
)
def test_what_stays_fits_with_room_and_is_made_of_turns(lengths, context_length, max_new_tokens):
    ids = turns(*lengths)
    reserved = CONVERSATION.reserved_tokens(context_length, max_new_tokens)
    kept = CONVERSATION.shorten(ids, context_length, reserved).ids
    assert len(kept) <= context_length - reserved
    roles = [token for token in kept if token in (USER, ASSISTANT)]
    assert roles == [USER, ASSISTANT] * (len(roles) // 2) != []
    assert kept[0] in (EOS, USER)
    assert kept[1] == USER or kept[0] == USER


@pytest.mark.parametrize(("length", "kept"), [(2, 1), (3, 2), (8, 6), (9, 7), (128, 96)])
def test_of_a_plain_text_all_but_a_quarter_of_the_context_stays(length, kept):
    ids = list(range(200))
    assert PlainText().shorten(ids, length, 0) == Shortened(ids[-kept:])


SYSTEM = [EOS, 70, 71, 72]  # what stands before the first question


def test_a_system_message_stays_while_turns_go():
    ids = SYSTEM + turns(3, 3, 2, 2, 4, 0)[1:]
    kept = CONVERSATION.shorten(ids, 19, 3)
    assert kept == Shortened([*SYSTEM, *ids[12:]], dropped_turns=1)


def test_a_system_message_stays_before_a_question_that_is_too_long():
    ids = [*SYSTEM, USER, *range(10, 40), ASSISTANT]
    expected = [*SYSTEM, USER, *range(36, 40), ASSISTANT]
    assert CONVERSATION.shorten(ids, 12, 2) == Shortened(expected, question_cut=True)


def test_a_system_message_longer_than_half_of_the_room_goes():
    ids = [EOS, *[70] * 6, USER, 10, 11, ASSISTANT]
    assert CONVERSATION.shorten(ids, 12, 2).ids == [EOS, USER, 10, 11, ASSISTANT]


SYSTEM_ROLE = DialogueText(USER, ASSISTANT, (70, 71, 72))


def conversation_with_system(*lengths):
    ids = turns(*lengths)
    return [*ids[:2], 70, 71, 72, *ids[2:]]


def test_a_system_message_goes_over_to_the_oldest_question_that_is_left():
    ids = conversation_with_system(3, 3, 2, 2, 4, 0)  # 1 + 11 + 6 + 6
    kept = SYSTEM_ROLE.shorten(ids, 19, 3)
    assert kept == Shortened([EOS, USER, 70, 71, 72, *ids[13:]], dropped_turns=1)
    again = SYSTEM_ROLE.shorten([*kept.ids, *[15] * 4], 19, 3)
    assert again == Shortened([EOS, USER, 70, 71, 72, *ids[19:], *[15] * 4], dropped_turns=1)


def test_a_question_too_long_loses_its_own_beginning_not_the_system_message():
    ids = [EOS, USER, 70, 71, 72, *range(10, 40), ASSISTANT]
    expected = [EOS, USER, 70, 71, 72, *range(36, 40), ASSISTANT]
    assert SYSTEM_ROLE.shorten(ids, 12, 2) == Shortened(expected, question_cut=True)


def test_a_system_message_too_long_to_talk_beside_goes_and_that_is_said():
    long = DialogueText(USER, ASSISTANT, (70,) * 6)
    ids = [EOS, USER, *[70] * 6, 10, 11, ASSISTANT]
    kept = long.shorten(ids, 12, 2)
    assert kept == Shortened([EOS, USER, 10, 11, ASSISTANT], system_dropped=True)
    assert not long.shorten([*kept.ids, *[15] * 8], 12, 2).system_dropped  # only once


def test_the_turns_that_went_are_counted():
    ids = turns(3, 3, 2, 2, 4, 0)
    assert [CONVERSATION.shorten(ids, 16, reserved).dropped_turns for reserved in (3, 4)] == [1, 2]


def test_very_many_turns_do_not_take_for_ever():
    """Work for each pair of turns would."""
    ids = turns(*[1] * 400_000)
    assert len(CONVERSATION.shorten(ids, 100, 20).ids) == 77
