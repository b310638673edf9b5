"""A run's conversations: a new one pushes none out, and an earlier one comes back as it was."""

from app.tabs.chat.conversation import Conversation
from app.tabs.chat.session import LONGEST_TITLE, ChatSession, title
from core.config.sampling import SamplingConfig


def session_with(*prompts):
    session = ChatSession(SamplingConfig(), continues=False)
    for prompt in prompts:
        session.begin()
        session.conversation.begin(prompt, continues=False)
    return session


def titles(session):
    return [title(conversation) for conversation in session.earlier]


def test_a_new_conversation_is_empty_and_the_one_before_is_the_first_of_the_earlier():
    session = session_with("one", "two")
    session.begin()
    assert session.conversation.turns == []
    assert titles(session) == ["two", "one"]


def test_an_earlier_one_comes_back_and_the_one_in_front_becomes_an_earlier_one():
    session = session_with("one", "two", "three")
    session.go_back_to(session.earlier[-1])
    assert title(session.conversation) == "one"
    assert titles(session) == ["three", "two"]


def test_a_conversation_in_which_nothing_was_said_is_not_kept():
    session = session_with("one")
    session.begin()
    session.begin()
    session.go_back_to(session.earlier[0])
    assert title(session.conversation) == "one"
    assert session.earlier == []


def test_a_long_prompt_is_cut_for_the_list_and_kept_on_one_line():
    conversation = Conversation()
    conversation.begin("word\n" * 40, continues=False)
    assert len(title(conversation)) == LONGEST_TITLE
    assert "\n" not in title(conversation)
