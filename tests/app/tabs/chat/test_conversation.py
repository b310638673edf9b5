"""The turns of a conversation, and the figures of a reply."""

import pytest

from app.tabs.chat.conversation import Conversation
from app.tabs.chat.reply_meter import ReplyMeter
from core.events import ContextMoved, Notice, PromptRead, ReplyEnded, TokenWritten


def token(text, used=6):
    return TokenWritten(text, 7, 0.5, used)


def ended(text, reason="eos", tokens=3):
    return ReplyEnded(reason, text, tokens, 1.0, 0.1, 42.0)


def talk(*events, continues=False):
    conversation = Conversation()
    conversation.begin("Who?", continues=continues)
    for event in events:
        conversation.take(event)
    return conversation


def test_a_reply_grows_token_by_token():
    assert talk(token("Mi"), token("la")).turns[-1].reply == "Mila"


def test_the_end_says_what_the_reply_is():
    assert talk(token("Mila END"), ended("Mila ", "stop_string")).turns[-1].reply == "Mila "


def test_unknown_characters_are_named():
    notes = talk(PromptRead(3, 128, ("ß", "☃"))).turns[-1].notes
    assert notes == ["The vocabulary lacks ß, ☃: the model sees <unk> there."]


def test_what_the_weights_became_is_reported():
    notice = Notice("This machine cannot compute with bfloat16 weights; they are float32.")
    assert talk(notice, token("Mila")).turns[-1].notes == [notice.text]


def test_a_moved_context_is_reported():
    (note,) = talk(ContextMoved(kept=64, dropped=1064)).turns[-1].notes
    assert note == "The context was full: 64 tokens were kept, 1,064 older ones are forgotten."


def test_the_turns_that_went_are_counted():
    (note,) = talk(ContextMoved(kept=64, dropped=32, dropped_turns=2)).turns[-1].notes
    assert "32 older ones (including 2 questions with their answers) are forgotten." in note


def test_a_question_that_was_cut_is_reported():
    moved = ContextMoved(kept=96, dropped=64, question_cut=True)
    assert "only its end was read" in talk(moved).turns[-1].notes[0]


def test_a_context_that_moves_again_is_reported_once():
    moved = ContextMoved(kept=64, dropped=64)
    assert len(talk(moved, moved).turns[-1].notes) == 1


def test_a_reply_that_ends_at_once_is_reported():
    assert talk(ended("")).turns[-1].notes == ["The model ended its reply at once."]
    assert talk(ended("", "stopped")).turns[-1].notes == []


def test_a_chat_model_gets_the_answered_turns_and_the_last_prompt():
    conversation = talk(ended("Mila."))
    conversation.begin("Once upon a time", continues=True)
    conversation.take(ended(" there was a goat."))
    conversation.begin("Unanswered", continues=False)
    conversation.begin("And where?", continues=False)
    assert conversation.messages() == [("user", "Who?"), ("assistant", "Mila."), ("user", "And where?")]


def test_the_meter_counts_speed_and_context_during_a_reply():
    meter = ReplyMeter()
    meter.take(PromptRead(5, 128, ()), now=0.0)
    assert meter.line() == "context 5 of 128 tokens"
    for number in range(5):
        meter.take(token("x", used=6 + number), now=1.0 + number / 20)
    assert meter.line() == "5 tokens · 20 tokens/s · context 10 of 128 tokens"


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("eos", ""),
        ("stopped", " · stopped"),
        ("length", " · reached the maximum length"),
        ("stop_string", " · ended at a stop text"),
    ],
)
def test_the_meter_shows_the_end(reason, ending):
    meter = ReplyMeter()
    meter.take(PromptRead(5, 128, ()), now=0.0)
    meter.take(ended("x", reason), now=1.0)
    assert meter.line() == f"3 tokens · 42 tokens/s · context 5 of 128 tokens{ending}"
