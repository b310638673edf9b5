import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.documents.plain_text import decode_text

GERMAN = "Ein längerer Text über Bären, die im Wald schlafen und Äpfel fressen. Größe und Maß."


def test_utf_8_is_read_as_it_is():
    assert decode_text("naïve – 漢字 🐑".encode()) == ("naïve – 漢字 🐑", ())


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_a_byte_order_mark_is_believed_and_left_out(mark, encoding):
    assert decode_text(mark + GERMAN.encode(encoding)) == (GERMAN, ())


@pytest.mark.parametrize("text", [GERMAN, "café – “quoted” naïve", "Das Mädchen aß Äpfel."])
def test_western_text_of_windows_is_recognised(text):
    assert decode_text(text.encode("cp1252")) == (text, ())


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("こんにちは世界。これは日本語の文章です。", "shift_jis"),
        ("Привет, как дела? Это русский текст.", "cp1251"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
    ],
)
def test_other_encodings_are_detected(text, encoding):
    assert decode_text(text.encode(encoding))[0] == text


def test_one_bad_byte_does_not_turn_utf_8_into_another_encoding():
    text, warnings = decode_text("äöü".encode() * 10 + b"\xff")
    assert text == "äöü" * 10 + "\N{REPLACEMENT CHARACTER}"
    assert warnings == ("It is not clean text: 1 place could not be decoded.",)


def test_half_a_character_of_utf_16_is_a_warning_and_no_error():
    text, warnings = decode_text("\ufeffab".encode("utf-16-le") + b"c")
    assert text.startswith("ab")
    assert warnings


def test_a_file_may_hold_the_replacement_character_itself():
    assert decode_text("\ufeffone \N{REPLACEMENT CHARACTER}".encode()) == (
        "one \N{REPLACEMENT CHARACTER}",
        (),
    )


@given(st.binary(max_size=200))
def test_no_bytes_end_in_a_codec_error(data):
    text, _ = decode_text(data)
    assert isinstance(text, str)
