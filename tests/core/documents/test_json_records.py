import json

import pytest

PROSE = "Sheep graze on the hills all summer long, and nobody counts them."
TALK = {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}
TALK_TEXT = "<|user|>Q<|assistant|>A<eos>\n"


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("chats.jsonl", lines(TALK, TALK)),
        ("chats.json", json.dumps([TALK, TALK], indent=1)),
        ("chats.json", json.dumps({"version": 1, "data": [TALK, TALK]})),
        ("chats.json", lines(TALK, TALK)),
        ("chats", json.dumps([TALK, TALK])),
    ],
)
def test_conversations_are_read_from_lists_and_lines(read, name, source):
    document = read(name, source)
    assert (document.kind, document.text) == ("conversation", TALK_TEXT * 2)


def test_one_object_may_be_one_conversation(read):
    assert read("chat.json", json.dumps(TALK)).text == TALK_TEXT


def test_lines_that_hold_no_conversation_are_named(read):
    document = read("chats.jsonl", lines(TALK) + "{cut off\n\n" + lines(TALK, {"messages": []}))
    assert document.text == TALK_TEXT * 2
    assert document.warnings == ("No conversation in lines 2 and 5; left out.",)


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        ("rows.jsonl", lambda rows: lines(*rows)),
        ("rows.json", json.dumps),
        ("r.json", lambda rows: json.dumps({"r": rows})),
    ],
)
def test_of_records_the_field_with_prose_is_found(read, name, wrap):
    rows = [{"id": number, "title": "Sheep", "post": {"text": f"{number} {PROSE}"}} for number in range(3)]
    document = read(name, wrap(rows))
    assert (document.kind, document.text) == ("json", f"0 {PROSE}\n\n1 {PROSE}\n\n2 {PROSE}")
    assert document.note == "The text is the field post.text of 3 records."


def test_chosen_fields_come_in_the_order_of_the_choice(read):
    rows = [{"body": PROSE, "title": "Sheep"}, {"body": "Goats"}]
    document = read("rows.json", json.dumps(rows), text_fields=("title", "body", "none"))
    assert document.text == f"Sheep\n{PROSE}\n\nGoats"
    assert document.note == "The text is the fields title and body of 2 records."


def test_fields_inside_lists_are_fields_too(read):
    rows = [{"parts": [{"text": PROSE}, {"text": "More."}]}] * 2
    assert read("rows.jsonl", lines(*rows)).text == f"{PROSE}\nMore.\n\n{PROSE}\nMore."


def test_prose_without_spaces_is_prose(read):
    assert (
        read("rows.jsonl", lines({"t": "羊" * 50}, {"t": "羊" * 50})).text == "羊" * 50 + "\n\n" + "羊" * 50
    )


@pytest.mark.parametrize(
    "value",
    [
        {
            "name": "studio",
            "description": "A package that has a long description in one sentence.",
            "files": ["x" * 60] * 9,
        },
        {
            "type": "FeatureCollection",
            "features": [{"properties": {"name": "Bern"}, "geometry": {"x": [1, 2]}}] * 3,
        },
        [{"hash": "9f" * 40}, {"hash": "8e" * 40}],
        {"a": {"b": [1, 2, 3]}},
        ["one", "two"],
        [],
        3,
    ],
)
def test_ordinary_json_stays_as_it_is(read, value):
    source = json.dumps(value, indent=1)
    document = read("data.json", source)
    assert (document.kind, document.text, document.note) == ("json", source, "")


def test_lines_without_prose_stay_as_they_are(read):
    assert read("rows.jsonl", lines({"a": 1}, {"a": 2})).text == lines({"a": 1}, {"a": 2})


def test_json_that_breaks_off_is_text_with_a_warning(read):
    document = read("rows.json", '[\n{"a": 1},\n{"a": 2},\n{"a"')
    assert document.text.endswith('{"a"')
    assert document.warnings == ("The JSON is incomplete: it ends in line 4.",)
    assert read("rows.json", "{ comment: no JSON at all, and longer than its beginning }").warnings == ()


@pytest.mark.parametrize(
    "source",
    [
        "[" * 100_000,
        '{"a":' * 5000,
        "1" * 5000,
        '{"a": 1, "a": 2}',
        "[NaN, Infinity]",
        '{"a": "\\ud800"}',
        "\ufeff[1]",
    ],
)
def test_no_json_is_a_crash(read, source):
    assert read("rows.json", source).kind == read("rows.jsonl", source).kind == "json"


def test_a_field_deeper_than_any_record_is_not_looked_for(read):
    record: object = PROSE
    for _ in range(500):
        record = {"a": record}
    assert read("rows.jsonl", lines(record, record)).note == ""


def test_lines_in_utf_16_are_read(read):
    assert read("chats.jsonl", lines(TALK).encode("utf-16")).text == TALK_TEXT
