import hashlib
import os

import pytest

from core.config.corpus import ImportConfig
from core.documents.document import name_numbers
from core.documents.reading import read_document
from core.errors import UnreadableDocumentError, UnsupportedDocumentError


@pytest.fixture
def read(tmp_path, no_ocr):
    def write_and_read(name: str, data: bytes):
        (tmp_path / name).write_bytes(data)
        return read_document(tmp_path / name, no_ocr)

    return write_and_read


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("notes.txt", "text"),
        ("notes", "text"),
        ("table.csv", "text"),
        ("README.md", "markdown"),
        ("main.py", "code"),
        ("Makefile", "code"),
        ("Main.JAVA", "code"),
    ],
)
def test_the_name_tells_kinds_of_text_apart(read, name, kind):
    assert read(name, b"hello\n").kind == kind


def test_a_first_line_that_names_an_interpreter_makes_it_code(read):
    assert read("run", b"#!/bin/sh\necho hello\n").kind == "code"


def test_a_document_knows_its_source_and_its_hash(read, tmp_path):
    document = read("notes.txt", b"hello\n")
    assert document.path == str(tmp_path / "notes.txt")
    assert document.sha256 == hashlib.sha256(b"hello\n").hexdigest()
    assert (document.text, document.pages, document.warnings, document.confidence) == ("hello\n", 1, (), -1)


def test_json_lines_of_messages_are_conversations(read):
    messages = b'{"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}\n'
    document = read("chats.jsonl", messages)
    assert (document.kind, document.text) == ("conversation", "<|user|>Q<|assistant|>A<eos>\n")
    assert read("chats.txt", messages).kind == "text"
    assert read("rows.jsonl", b'{"a": 1}\n').kind == "text"


def test_half_a_surrogate_that_json_spells_out_cannot_reach_the_library(read):
    messages = (
        rb'{"messages": [{"role": "user", "content": "Q\ud800"}, {"role": "assistant", "content": "A"}]}'
    )
    assert read("chats.jsonl", messages).text == "<|user|>Q?<|assistant|>A<eos>\n"


def test_content_comes_before_the_name(write_pdf, no_ocr):
    assert read_document(write_pdf("Hello", name="paper.txt"), no_ocr).kind == "pdf"


def test_an_image_is_known_by_its_first_bytes(tmp_path, picture, no_ocr):
    picture("hello").save(tmp_path / "notes.txt", format="PNG")
    with pytest.raises(UnsupportedDocumentError, match=r"notes\.txt .* image, and OCR is off"):
        read_document(tmp_path / "notes.txt", no_ocr)


@pytest.mark.parametrize("name", ["paper.pdf", "scan.png"])
def test_text_under_a_name_that_promises_more_is_no_document(read, name):
    with pytest.raises(UnreadableDocumentError, match="its content is not what its name says"):
        read(name, b"404 not found\n")


def test_an_empty_text_is_an_empty_document(read):
    assert read("empty.txt", b"").text == ""


def test_an_empty_pdf_is_unreadable(read):
    with pytest.raises(UnreadableDocumentError, match="it is empty"):
        read("empty.pdf", b"")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04\x14\x00", "ZIP archive"),
        (b"\x7fELF\x02\x01\x01\x00", "a program"),
        (b"SQLite format 3\x00", "a database"),
        (b"abc\x00def", "binary file of an unknown kind"),
        (bytes(range(1, 32)), "binary file of an unknown kind"),
    ],
)
def test_a_binary_is_never_read_as_text(read, data, what):
    with pytest.raises(UnsupportedDocumentError, match=what):
        read("notes.txt", data)


@pytest.mark.parametrize("text", ["MZ is a label.", "BMW is a car, BM is not.", "\x1b[31mred\x1b[0m log"])
def test_text_that_begins_like_a_binary_is_still_text(read, text):
    assert read("notes.txt", text.encode()).text == text


def test_a_file_over_the_limit_is_not_opened(tmp_path):
    (tmp_path / "large.txt").write_bytes(b"a" * (1024 * 1024 + 1))
    with pytest.raises(UnsupportedDocumentError, match="larger than 1 MiB"):
        read_document(tmp_path / "large.txt", ImportConfig(file_mib=1))


def test_a_pipe_is_not_waited_for(tmp_path, no_ocr):
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(UnsupportedDocumentError, match="not a regular file"):
        read_document(tmp_path / "pipe.txt", no_ocr)


def test_a_file_that_is_gone_is_told_in_a_sentence(tmp_path, no_ocr):
    with pytest.raises(UnreadableDocumentError, match=r"gone\.txt could not be read: no such file"):
        read_document(tmp_path / "gone.txt", no_ocr)


def test_numbers_are_named_in_spans():
    assert name_numbers("page", [3]) == "page 3"
    assert name_numbers("page", [2, 3, 4, 7, 9, 10]) == "pages 2-4, 7 and 9-10"
