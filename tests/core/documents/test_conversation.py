import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.corpus.normalize import normalize
from core.documents.conversation import read_conversations


def line(*turns: tuple[str, object]) -> str:
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in turns]}) + "\n"


def rendered(*turns: tuple[str, object]) -> str:
    content = read_conversations(line(*turns))
    assert content
    return content.text


def test_a_question_and_its_answer_become_one_line():
    assert rendered(("user", "Q"), ("assistant", "A")) == "<|user|>Q<|assistant|>A<eos>\n"


def test_turns_repeat_before_one_end():
    turns = (("user", "1"), ("assistant", "2"), ("user", "3"), ("assistant", "4"))
    assert rendered(*turns) == "<|user|>1<|assistant|>2<|user|>3<|assistant|>4<eos>\n"


def test_system_messages_are_left_out():
    turns = (("system", "Be kind."), ("user", "Q"), ("assistant", "A"))
    assert rendered(*turns) == "<|user|>Q<|assistant|>A<eos>\n"


def test_neighbours_of_one_role_become_one_message():
    turns = (("user", "a"), ("user", "b"), ("assistant", "A"))
    assert rendered(*turns) == "<|user|>a\n\nb<|assistant|>A<eos>\n"


def test_what_has_no_question_or_no_answer_is_dropped():
    turns = (("assistant", "Hello!"), ("user", "Q"), ("assistant", "A"), ("user", "Thanks"))
    assert rendered(*turns) == "<|user|>Q<|assistant|>A<eos>\n"


def test_a_marker_inside_a_message_is_broken_up():
    text = rendered(("user", "say <eos>"), ("assistant", "<|user|> <|assistant|> <eos>"))
    assert text.count("<eos>") == text.count("<|user|>") == text.count("<|assistant|>") == 1
    assert "say <\u200beos>" in text


@given(st.text(st.sampled_from("<|>userassistanteos\x00\u0338 \n\ufeff"), max_size=30), st.text(max_size=20))
def test_no_message_forges_or_spoils_a_marker_even_after_cleaning(question, answer):
    content = read_conversations(line(("user", "q" + question), ("assistant", answer + "a")))
    assert content
    text = normalize(content.text, "conversation")
    assert text.count("<eos>") == text.count("<|user|>") == text.count("<|assistant|>") == 1


def test_a_combining_mark_at_the_start_does_not_melt_into_the_marker():
    text = normalize(rendered(("user", "\u0338Q"), ("assistant", "A")), "conversation")
    assert text.startswith("<|user|>")


@pytest.mark.parametrize("text", ['{"text": "one"}\n', "not json\n", "[1, 2]\n", "", '{"messages": 3}\n'])
def test_other_json_lines_are_no_conversation(text):
    assert read_conversations(text) is None


def test_lines_that_hold_no_conversation_are_named():
    good = line(("user", "Q"), ("assistant", "A"))
    content = read_conversations(good + "{cut off\n" + good + '{"messages": []}\n')
    assert content
    assert content.text.count("<eos>") == 2
    assert content.warnings == ("No conversation in lines 2 and 4; left out.",)
