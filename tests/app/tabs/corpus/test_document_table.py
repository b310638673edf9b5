"""The ledger as an item model: rows come and change in place, and the library stays their owner."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QKeySequence

from app.tabs.corpus.columns import COLUMNS, NAME, READING, STATE, USE, file_size
from app.tabs.corpus.document_table import SORT_ROLE, DocumentTable
from app.tabs.corpus.document_view import DocumentView
from core.corpus.library import DocumentRow
from core.events import FileImported, FileReading

CHARACTERS = next(place for place, column in enumerate(COLUMNS) if column.title == "Characters")


def a_row(number, name, characters=10, state="done", included=True):
    return DocumentRow(
        number, f"/docs/{name}", name, "text", state, "", 0, characters, characters, -1.0, included
    )


def an_import(name, state="done", characters=10, number=1):
    return FileImported(f"/docs/{name}", state, "", "text", 0, characters, number, -1.0, characters)


@pytest.fixture
def table(qapp, qtmodeltester):
    table = DocumentTable()
    yield table
    qtmodeltester.check(table)


def shown(table, column=NAME):
    return [table.index(row, column).data() for row in range(table.rowCount())]


def test_a_model_of_every_state_keeps_qts_rules(table):
    states = ["done", "warning", "duplicate", "encrypted", "unsupported", "failed", "cancelled"]
    table.replace_all([a_row(n, f"{state}.txt", state=state) for n, state in enumerate(states)])
    assert table.rowCount() == len(states)


def test_files_come_in_one_insert_a_batch(qtbot, table):
    inserts = []
    table.rowsInserted.connect(lambda _parent, first, last: inserts.append((first, last)))
    table.show_events([FileReading("/docs/a.txt"), FileReading("/docs/b.txt"), an_import("a.txt")])
    assert inserts == [(0, 1)]
    assert shown(table, STATE) == ["Done", "Reading"]


def test_a_file_that_comes_to_its_end_changes_in_place(qtbot, table):
    table.show_events([FileReading("/docs/a.txt")])
    with qtbot.assertNotEmitted(table.modelReset), qtbot.waitSignal(table.dataChanged):
        table.show_events([an_import("a.txt", "failed")])
    assert shown(table, STATE) == ["Failed"]


def test_reading_a_file_again_keeps_its_place_and_its_tick(table):
    table.replace_all([a_row(1, "a.txt", included=False), a_row(2, "b.txt")])
    table.show_events([FileReading("/docs/a.txt"), an_import("a.txt")])
    assert shown(table) == ["a.txt", "b.txt"]
    assert table.index(0, USE).data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked


def test_rows_that_left_the_library_go_and_the_others_stay(qtbot, table):
    rows = [a_row(n, f"{n}.txt") for n in range(6)]
    table.replace_all(rows)
    with qtbot.assertNotEmitted(table.modelReset):
        table.replace_all([rows[0], rows[3], replace(rows[4], state="failed")])
    assert shown(table) == ["0.txt", "3.txt", "4.txt"]
    assert shown(table, STATE)[2] == "Failed"


def test_totals_count_what_is_included_and_has_text(table):
    table.replace_all([a_row(1, "a", 100), a_row(2, "b", 10, included=False), a_row(3, "c", 1, "duplicate")])
    assert table.totals == (1, 100)
    table.set_included([2], True)
    assert table.totals == (2, 110)


def test_a_tick_is_a_wish_until_the_library_followed(qtbot, table):
    table.replace_all([a_row(7, "a.txt")])
    box = table.index(0, USE)
    with qtbot.waitSignal(table.include_wished) as wished:
        table.setData(box, Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    assert wished.args == [[7], False]
    assert box.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
    table.set_included([7], False)
    assert box.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked


@pytest.mark.parametrize("state", [READING, "duplicate", "failed", "unsupported"])
def test_a_file_without_text_has_no_tick(table, state):
    table.put([a_row(1, "a", state=state)])
    assert table.index(0, USE).data(Qt.ItemDataRole.CheckStateRole) is None
    assert not table.index(0, USE).flags() & Qt.ItemFlag.ItemIsUserCheckable


def test_numbers_sort_as_numbers(table):
    table.replace_all([a_row(1, "a", 9), a_row(2, "b", 1000)])
    keys = [table.index(row, CHARACTERS).data(SORT_ROLE) for row in range(2)]
    assert keys == [9, 1000]
    assert shown(table, CHARACTERS) == ["9", "1,000"]


@pytest.mark.parametrize(
    ("size", "said"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_300_000, "2.3 MB")]
)
def test_sizes_are_said_as_people_say_them(size, said):
    assert file_size(size) == said


@pytest.fixture
def view(qtbot, table):
    table.replace_all(
        [a_row(1, "Olive.txt", 9), a_row(2, "brook.md", 1000), a_row(3, "broken.pdf", 0, "failed")]
    )
    view = DocumentView(table)
    qtbot.addWidget(view)
    view.show()
    return view


def names(view):
    return [view.model().index(row, NAME).data() for row in range(view.model().rowCount())]


def test_the_order_is_the_ledgers_until_a_header_is_clicked(view):
    assert names(view) == ["Olive.txt", "brook.md", "broken.pdf"]
    view.sortByColumn(CHARACTERS, Qt.SortOrder.DescendingOrder)
    assert names(view) == ["brook.md", "Olive.txt", "broken.pdf"]


def test_the_filter_finds_names_in_any_case(view):
    view.filter("BRO")
    assert names(view) == ["brook.md", "broken.pdf"]


def test_space_leaves_the_selected_documents_out_and_takes_them_in_again(qtbot, view, table):
    view.selectAll()
    with qtbot.waitSignal(view.include_wished) as wished:
        qtbot.keyClick(view, Qt.Key.Key_Space)
    assert wished.args == [[1, 2], False]
    table.set_included([1, 2], False)
    with qtbot.waitSignal(view.include_wished) as wished:
        qtbot.keyClick(view, Qt.Key.Key_Space)
    assert wished.args == [[1, 2], True]


def test_the_menu_does_the_same_for_many_rows(qtbot, view):
    view.selectAll()
    menu = view.context_menu()
    with qtbot.waitSignal(view.include_wished) as wished:
        menu.actions()[1].trigger()
    assert wished.args == [[1, 2], False]
    menu.deleteLater()


def test_the_cursor_tells_which_document_it_is_on(qtbot, view):
    with qtbot.waitSignal(view.current_changed) as told:
        view.setCurrentIndex(view.model().index(1, NAME))
    assert told.args[0].name == "brook.md"


def test_the_cursor_tells_when_its_document_changes(qtbot, view, table):
    view.selectionModel().setCurrentIndex(
        view.model().index(0, NAME), QItemSelectionModel.SelectionFlag.SelectCurrent
    )
    with qtbot.waitSignal(view.current_changed) as told:
        table.put([a_row(1, "Olive.txt", 12)])
    assert told.args[0].characters == 12


def test_select_all_has_its_usual_key(qtbot, view):
    view.setFocus()
    qtbot.keySequence(view, QKeySequence(QKeySequence.StandardKey.SelectAll))
    assert len(view.selected_rows()) == 3
