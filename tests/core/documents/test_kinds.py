import pytest

from core.documents.kinds import KINDS, SUFFIXES, kind_of_name
from core.documents.source_code import is_script, is_source_code


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("notes.txt", "text"),
        ("README.md", "markdown"),
        ("index.rst", "rst"),
        ("table.CSV", "csv"),
        ("server.log", "log"),
        ("server.log.3", "log"),
        ("package.json", "json"),
        ("rows.jsonl", "json"),
        ("page.HTM", "html"),
        ("book.epub", "epub"),
        ("letter.docx", "docx"),
        ("letter.odt", "odt"),
        ("history.sqlite3", "database"),
        ("paper.pdf", "pdf"),
        ("scan.webp", "image"),
        ("all.zip", "archive"),
        ("Main.JAVA", "code"),
        ("notes", ""),
        ("data.unknown", ""),
    ],
)
def test_the_name_promises_a_kind(name, kind):
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    "name",
    [
        "main.py",
        "Makefile",
        "Makefile.am",
        "CMakeLists.txt",
        "requirements.txt",
        "a.css.in",
        "lib.rs",
        "x.zig",
        "Dockerfile",
        "ls.1",
        "nginx.conf",
        "App.svelte",
        "parser.y",
        "feed.xml",
        "grammar.m4",
    ],
)
def test_source_code_is_known_by_its_name(name):
    assert kind_of_name(name) == "code"


@pytest.mark.parametrize("name", ["notes.txt", "todo.txt", "a.py.txt", "picture.jpg", "py", ".py.swp"])
def test_other_names_are_no_source_code(name):
    assert kind_of_name(name) != "code"


def test_every_kind_has_a_title():
    assert set(SUFFIXES) | {"code", "conversation"} == set(KINDS)


def test_every_language_that_pygments_knows_by_a_suffix_is_known():
    from pygments.lexers import get_all_lexers

    patterns = {pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns}
    names = [pattern.replace("*", "a") for pattern in patterns if not set(pattern) & set("[?")]
    assert [name for name in names if not is_source_code(name)] == []


def test_a_script_names_its_interpreter():
    assert is_script("#!/bin/sh\necho hello\n")
    assert not is_script("#! not a path\n/bin/sh\n")
