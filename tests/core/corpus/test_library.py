import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from core.config.corpus import CorpusConfig
from core.corpus.library import CorpusTotals, Library
from core.errors import (
    DamagedLibraryError,
    DiskFullError,
    UnknownDocumentError,
    UserFacingError,
    WorkspaceError,
)

CONFIG = CorpusConfig()


def texts(library: Library, split: str, config: CorpusConfig = CONFIG) -> list[str]:
    return [passage.text for passage in library.passages(split, config)]


def many(add, count: int = 60) -> list[str]:
    """Enough documents of one size, so that whole ones are kept for validation."""
    written = [f"document number {number:03} of the meadow" for number in range(count)]
    for number, text in enumerate(written):
        add(f"/meadow/{number:03}.txt", text)
    return written


# The ledger


def test_a_document_stands_in_the_ledger_with_its_text(library, add):
    added = add("/meadow/stories.txt", "Clover sleeps.", kind="text")
    row = library.row(added.document_id)
    assert (row.path, row.name, row.kind, row.state) == ("/meadow/stories.txt", "stories.txt", "text", "done")
    assert (row.characters, row.bytes, row.included, row.reason) == (14, 14, True, "")
    assert library.text(row.id) == "Clover sleeps."
    assert library.rows() == [row]


def test_text_is_kept_as_it_was_read(library, add):
    text = "a\r\n\r\n\r\n\r\nb \x00 \U0001f411"
    assert library.text(add("/a.txt", text).document_id) == text


@pytest.mark.parametrize("most", [0, 1, 3, 5, 6, 100])
def test_the_beginning_of_a_text_is_that_many_characters(library, add, most):
    text = "a\x00ö🐑b€"
    number = add("/a.txt", text).document_id
    assert library.text(number, most_characters=most) == text[:most]


def test_a_file_without_text_has_an_empty_beginning(library):
    library.record_failure("/a.pdf", "failed", "It is damaged.", "pdf", 9)
    assert library.text(library.rows()[0].id, most_characters=5) == ""


def test_what_is_kept_is_there_after_reopening(library, add, tmp_path):
    add("/a.txt", "sheep")
    with Library(tmp_path / "library.sqlite") as second:  # while the first is open
        assert second.text(second.rows()[0].id) == "sheep"


def test_a_warning_is_kept_as_the_reason(library, add):
    added = add("/a.pdf", "sheep", kind="pdf", warnings=("Page 2 is lost.", "Page 3 too."))
    assert (added.state, added.reason) == ("warning", "Page 2 is lost. Page 3 too.")


def test_a_file_without_text_is_a_warning_and_no_ones_duplicate(library, add):
    assert add("/a/__init__.py", "").reason == "There is no text in it."
    assert add("/b/__init__.py", "").state == "warning"
    assert library.totals().documents == 0


def test_a_failure_stands_in_the_ledger_without_text(library):
    library.record_failure("/a.pdf", "encrypted", "a.pdf is locked.", "pdf", 9)
    (row,) = library.rows()
    assert (row.state, row.reason, row.kind, row.bytes) == ("encrypted", "a.pdf is locked.", "pdf", 9)
    assert library.text(row.id) == ""


def test_a_file_that_failed_is_done_when_it_is_read_later(library, add):
    library.record_failure("/a.txt", "failed", "No.", "", 9)
    add("/a.txt", "sheep")
    (row,) = library.rows()
    assert (row.state, row.reason) == ("done", "")


def test_a_failure_costs_nothing_that_was_read_before(library, add):
    first = add("/a.pdf", "sheep")
    again = library.record_failure("/a.pdf", "failed", "It is damaged.", "pdf", 9)
    assert again.reason == "It is damaged. The text of an earlier import is kept."
    assert again.document_id == first.document_id
    assert library.row(first.document_id).state == "done"
    assert library.text(first.document_id) == "sheep"


def test_cancelled_files_are_noted_unless_they_are_here_already(library, add):
    add("/a.txt", "sheep")
    library.record_cancelled([("/a.txt", "", 5), ("/b.txt", "", 5)])
    assert [(row.path, row.state) for row in library.rows()] == [("/a.txt", "done"), ("/b.txt", "cancelled")]


def test_a_number_that_no_document_has_is_told(library):
    for ask in (library.row, library.text, lambda number: library.set_included([number], True)):
        with pytest.raises(UnknownDocumentError, match="no document number 7"):
            ask(7)


# Duplicates and replacement


def test_an_unchanged_file_is_already_in_the_library(library, add):
    first = add("/a.txt", "sheep")
    again = add("/a.txt", "sheep")
    assert (again.state, again.reason) == ("duplicate", "It is already in the library.")
    assert again.document_id == first.document_id
    assert library.row(first.document_id).state == "done"


def test_a_changed_file_replaces_its_text_and_keeps_its_number(library, add):
    first = add("/a.txt", "sheep")
    library.set_included([first.document_id], False)
    again = add("/a.txt", "more sheep")
    assert (again.state, again.document_id) == ("done", first.document_id)
    assert library.text(first.document_id) == "more sheep"
    assert not library.row(first.document_id).included


def test_the_same_bytes_read_better_this_time_replace_the_text(library, document):
    library.record("/scan.png", document("shoop", file=b"png", warnings=("Hard to read.",)), 3)
    again = library.record("/scan.png", document("sheep", file=b"png"), 3)
    assert again.state == "done"
    assert library.text(again.document_id) == "sheep"


def test_the_same_bytes_elsewhere_are_a_duplicate_named_by_what_they_repeat(library, add):
    first = add("/a/report.txt", "sheep")
    copy = add("/b/copy.txt", "sheep")
    assert (copy.state, copy.document_id) == ("duplicate", 0)
    assert copy.reason == f"It repeats report.txt (document {first.document_id}, /a/report.txt)."
    assert [row.state for row in library.rows()] == ["done", "duplicate"]
    assert library.totals().documents == 1


def test_the_same_text_from_other_bytes_is_a_duplicate(library, add):
    add("/a.txt", "sheep\nand goats\n")
    assert add("/windows.txt", "sheep \r\nand goats").state == "duplicate"


def test_a_file_that_became_a_copy_loses_its_text(library, add):
    add("/a.txt", "sheep")
    second = add("/b.txt", "goats")
    add("/b.txt", "sheep")
    assert library.row(second.document_id).state == "duplicate"
    assert library.text(second.document_id) == ""


def test_a_copy_is_taken_in_when_what_it_repeated_has_changed(library, add):
    add("/a.txt", "sheep")
    add("/b.txt", "sheep")
    add("/a.txt", "goats")
    assert add("/b.txt", "sheep").state == "done"


def test_known_bytes_need_not_be_read_again(library, add, document):
    add("/a.txt", "sheep")
    (known,) = library.hashes_of_size(5)
    assert known == document("sheep").sha256
    duplicate = library.record_known("/b.txt", known, 5)
    assert duplicate
    assert duplicate.reason.startswith("It repeats a.txt")
    assert library.record_known("/c.txt", "0" * 64, 5) is None


# The corpus


def test_totals_count_what_is_included(library, add):
    add("/a.txt", "äö")
    left_out = add("/b.txt", "sheep").document_id
    assert library.totals() == CorpusTotals(documents=2, characters=7, bytes=9)
    library.set_included([left_out], False)
    assert library.totals() == CorpusTotals(documents=1, characters=2, bytes=4)
    library.set_included([left_out], True)
    assert library.totals().documents == 2


def test_an_empty_library_has_no_passages(library):
    assert texts(library, "train") == texts(library, "val") == []
    assert library.totals() == CorpusTotals(0, 0, 0)


def test_documents_never_mix_between_the_sides(library, add):
    written = many(add)
    train, val = texts(library, "train"), texts(library, "val")
    assert library.split_by(CONFIG) == "documents"
    assert train
    assert val
    assert sorted(train + val) == written


def test_with_few_documents_the_end_of_each_is_for_validation(library, add):
    add("/a.txt", "".join(f"a {number}\n" for number in range(10)))
    add("/b.txt", "".join(f"b {number}\n" for number in range(10)))
    assert library.split_by(CONFIG) == "blocks"
    assert texts(library, "val") == ["a 9\n", "b 9\n"]


def test_passages_come_in_the_order_of_paths_not_of_import(library, add):
    add("/b.txt", "b\n" * 10)
    add("/a.txt", "a\n" * 10)
    assert [text[0] for text in texts(library, "val")] == ["a", "b"]


def test_passages_are_clean_on_their_way_out(library, add):
    add("/a.txt", "a\r\n\r\n\r\n\r\nb\x00\r\n" + "c\r\n" * 30)
    assert "".join(texts(library, "train") + texts(library, "val")) == "a\n\nb\n" + "c\n" * 30
    assert "\x00" in texts(library, "train", CorpusConfig(normalize=False))[0]


def test_lines_are_passages_where_the_user_wants_it_so(library, add):
    add("/a.txt", "one\n\ntwo\n  three\n")
    lines = CorpusConfig(samples="lines")
    assert texts(library, "train", lines) + texts(library, "val", lines) == ["one", "two", "  three"]


@pytest.mark.parametrize("samples", ["documents", "lines"])
def test_every_passage_of_conversations_ends_with_its_own_eos(library, add, samples):
    add("/a.jsonl", "<|user|>Q<|assistant|>A<eos>\n" * 10, kind="conversation")
    assert library.has_conversations()
    passages = [*library.passages("train", CorpusConfig(samples=samples))]
    assert all(passage.has_markers and passage.text.endswith("A<eos>") for passage in passages)
    assert "".join(passage.text for passage in passages) == "<|user|>Q<|assistant|>A<eos>" * 9


def test_markers_in_a_text_are_text(library, add):
    add("/a.txt", "say <eos>")
    assert not library.has_conversations()
    assert not any(passage.has_markers for passage in library.passages("train", CONFIG))


def test_documents_left_out_are_in_no_passage(library, add):
    left_out = add("/a.txt", "sheep\n" * 5)
    library.set_included([left_out.document_id], False)
    assert texts(library, "train") == []


def test_the_fingerprint_changes_with_what_is_included_and_how_it_is_used(library, add):
    added = add("/a.txt", "sheep")
    add("/b.txt", "goats")
    both = library.fingerprint(CONFIG)
    library.set_included([added.document_id], False)
    one = library.fingerprint(CONFIG)
    library.set_included([added.document_id], True)
    assert library.fingerprint(CONFIG) == both
    assert len({both, one, library.fingerprint(CorpusConfig(samples="lines"))}) == 3


def test_the_fingerprint_does_not_depend_on_the_order_of_import(tmp_path, document):
    prints = []
    for name, order in (("one", ["/a.txt", "/b.txt"]), ("two", ["/b.txt", "/a.txt"])):
        with Library(tmp_path / name) as library:
            for path in order:
                library.record(path, document(f"text of {path}"), 9)
            prints.append(library.fingerprint(CONFIG))
    assert prints[0] == prints[1]


# What can go wrong with the file


def test_a_damaged_library_is_told_and_left_as_it_is(tmp_path):
    path = tmp_path / "library.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(DamagedLibraryError, match=r"it is damaged\. Nothing in it was changed"):
        Library(path)
    assert path.read_bytes() == b"no database at all" * 100


def test_damage_in_the_middle_is_told_when_it_is_met(tmp_path, document):
    path = tmp_path / "library.sqlite"
    with Library(path) as library:
        for number in range(200):
            library.record(f"/{number}.txt", document(f"{number} sheep " * 200), 9)
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    with pytest.raises(DamagedLibraryError), Library(path) as library:
        for row in library.rows():
            library.text(row.id)


def test_another_programs_database_is_not_touched(tmp_path):
    connection = sqlite3.connect(tmp_path / "library.sqlite")
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = (tmp_path / "library.sqlite").read_bytes()
    with pytest.raises(DamagedLibraryError, match="another program"):
        Library(tmp_path / "library.sqlite")
    assert (tmp_path / "library.sqlite").read_bytes() == before


def test_a_library_of_a_newer_version_is_not_touched(tmp_path):
    Library(tmp_path / "library.sqlite").close()
    connection = sqlite3.connect(tmp_path / "library.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DamagedLibraryError, match="a newer version"):
        Library(tmp_path / "library.sqlite")


def test_a_workspace_that_cannot_hold_a_library_is_told(tmp_path):
    (tmp_path / "library.sqlite").mkdir()
    with pytest.raises(WorkspaceError):
        Library(tmp_path / "library.sqlite")
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError):
        Library(tmp_path / "file" / "library.sqlite")


def test_a_full_disk_loses_nothing_that_was_there(library, add):
    add("/a.txt", "sheep")
    pages = library._query("PRAGMA page_count")[0][0]
    library._query(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFullError):
        add("/b.txt", "goats " * 10_000)
    assert [row.path for row in library.rows()] == ["/a.txt"]
    library._query("PRAGMA max_page_count = 1000000")
    assert add("/c.txt", "cows").state == "done"


def test_a_library_that_must_not_be_written_is_told(library, add):
    library._query("PRAGMA query_only = ON")
    with pytest.raises(WorkspaceError):
        add("/a.txt", "sheep")


def test_two_instances_write_in_turn(library, add, tmp_path, document):
    with Library(tmp_path / "library.sqlite") as second:
        for number in range(20):
            add(f"/a/{number}.txt", f"sheep {number}")
            second.record(f"/b/{number}.txt", document(f"goats {number}"), 9)
        assert second.totals() == library.totals()
    assert library.totals().documents == 40


def test_a_kill_leaves_whole_rows(tmp_path):
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from core.corpus.library import Library\n"
        "from core.documents.document import Document\n"
        "library = Library(Path(sys.argv[1]))\n"
        "for number in range(50):\n"
        "    text = f'{number} sheep'\n"
        "    library.record(f'/{number}.txt', Document('', 'text', text, text, 1, (), -1.0), 9)\n"
        "with library._database.transaction():\n"
        "    library._write_row('/half.txt', kind='text', state='done', reason='', bytes=1)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    path = tmp_path / "library.sqlite"
    ended = subprocess.run([sys.executable, "-c", script, str(path)], cwd=Path.cwd(), check=False)
    assert ended.returncode == -9
    with Library(path) as library:
        assert [library.text(row.id) for row in library.rows()] == [f"{number} sheep" for number in range(50)]


def test_every_failure_of_the_library_has_a_remedy(tmp_path):
    for error in (DamagedLibraryError(tmp_path, "it is damaged"), DiskFullError(tmp_path)):
        assert isinstance(error, UserFacingError)
        assert error.remedy
