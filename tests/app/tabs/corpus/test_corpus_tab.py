"""What a user does in the Corpus tab, and what he then sees."""

import threading
from pathlib import Path

import PySide6
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog

from app.jobs.lanes import Lanes
from app.tabs.corpus.columns import USE
from app.tabs.corpus.controller import CorpusController
from app.tabs.corpus.preview import LONGEST
from app.tabs.corpus.tab import CorpusTab
from core.corpus.library import DocumentRow, Library
from core.errors import MissingPathError
from core.events import FileImported, FileReading, FileWritten, ImportFinished, ImportStarted, Notice
from core.runs.folder import Workspace

NO_BUTTON, NO_KEY = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def tab(qtbot):
    tab = CorpusTab()
    qtbot.addWidget(tab)
    tab.resize(1200, 700)
    tab.show()
    return tab


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path / "workspace")
    workspace.prepare()
    return workspace


@pytest.fixture
def lanes(qtbot):
    lanes = Lanes()
    yield lanes
    lanes.stop_all()
    qtbot.waitUntil(lambda: not lanes.active())


def files(*paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


DRAG_POINT = QPointF if PySide6.__version_info__ >= (6, 12) else QPoint  # each refuses the other's
MOVE, COPY = Qt.DropAction.MoveAction, Qt.DropAction.CopyAction


def enter(tab, data, actions=COPY | MOVE):
    """Whether the page takes the drag."""
    event = QDragEnterEvent(DRAG_POINT(5, 5), actions, data, NO_BUTTON, NO_KEY)
    event.ignore()
    tab.dragEnterEvent(event)
    return event.isAccepted()


def drop(tab, data):
    """What became of the files."""
    event = QDropEvent(QPointF(5, 5), COPY | MOVE, data, NO_BUTTON, NO_KEY)
    event.setDropAction(MOVE)
    tab.dropEvent(event)
    return event.dropAction()


def finished(done=1, **counts):
    none = {"duplicates": 0, "unsupported": 0, "failed": 0, "cancelled": 0}
    return ImportFinished(done=done, seconds=0.1, **(none | counts))


def imported(path, state="done", reason=""):
    return FileImported(str(path), state, reason, "text", 0, 10, 0, -1.0, 10)


def reads_all(paths, config, workspace, stop):
    yield ImportStarted(files=len(paths), bytes=10 * len(paths))
    for path in paths:
        yield FileReading(str(path))
        yield imported(path)
    end = finished(len(paths))
    yield end
    return end


def reads_until_stopped(paths, config, workspace, stop):
    yield ImportStarted(files=len(paths), bytes=100)
    yield FileReading(str(paths[0]))
    while not stop.asked:
        yield Notice("still reading")
    end = finished(0, cancelled=len(paths))
    yield end
    return end


# Asking


def test_the_first_start_offers_two_doors(tab):
    assert tab.first_start.sample_button.isVisible()
    assert tab.first_start.files_button.isVisible()
    assert not tab.ledger.isVisible()


def test_the_sample_door_asks_for_the_sample(qtbot, tab):
    with qtbot.waitSignal(tab.sample_requested):
        qtbot.mouseClick(tab.first_start.sample_button, Qt.MouseButton.LeftButton)


def test_the_sample_button_asks_for_the_same(qtbot, tab):
    with qtbot.waitSignal(tab.sample_requested):
        qtbot.mouseClick(tab.tools.sample_button, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize(
    ("choice", "mode"), [(0, QFileDialog.FileMode.ExistingFiles), (1, QFileDialog.FileMode.Directory)]
)
def test_the_add_button_opens_a_dialog_for_files_or_a_folder(qtbot, tab, tmp_path, choice, mode):
    tab.tools.add_button.menu().actions()[choice].trigger()
    dialog = tab.findChild(QFileDialog)
    assert dialog.fileMode() == mode
    with qtbot.waitSignal(tab.add_requested) as asked:
        dialog.filesSelected.emit([str(tmp_path)])
    assert asked.args == [[tmp_path]]
    dialog.close()


def test_the_page_lights_up_while_files_hover(qtbot, tab, tmp_path):
    assert enter(tab, files(tmp_path))
    assert tab.light.isVisible()
    assert tab.light.size() == tab.size()
    tab.dragLeaveEvent(QDragLeaveEvent())
    assert not tab.light.isVisible()


def test_a_drag_without_files_leaves_the_page_alone(tab):
    data = QMimeData()
    data.setText("words")
    assert not enter(tab, data)
    assert not tab.light.isVisible()


def test_files_that_could_only_be_moved_are_not_taken(tab, tmp_path):
    assert not enter(tab, files(tmp_path), MOVE)


def test_a_drop_copies_and_asks_for_the_paths(qtbot, tab, tmp_path):
    with qtbot.waitSignal(tab.add_requested) as asked:
        action = drop(tab, files(tmp_path / "a.txt", tmp_path / "b"))
    assert asked.args == [[tmp_path / "a.txt", tmp_path / "b"]]
    assert action == COPY


def test_reading_settings_are_those_of_the_config(tab):
    tab.ledger.reading.ocr_box.setCurrentText("off")
    tab.ledger.reading.languages_edit.setText("eng+deu")
    assert (tab.import_config().ocr, tab.import_config().languages) == ("off", "eng+deu")


# Reading


def test_a_drop_becomes_rows(qtbot, tab, workspace, lanes, tmp_path):
    controller = CorpusController(tab, workspace, lanes, import_task=reads_all)
    seen = []
    tab.table.rowsInserted.connect(lambda *_: seen.append(tab.table.rowCount()))
    with qtbot.waitSignal(controller.imported) as ended:
        drop(tab, files(tmp_path / "a.txt", tmp_path / "b.txt"))
    assert seen[-1] == 2
    assert ended.args == [finished(2)]


def test_the_strip_is_there_only_while_files_are_read(qtbot, tab, workspace, lanes):
    controller = CorpusController(tab, workspace, lanes, import_task=reads_until_stopped)
    controller.add([Path("/docs/a.txt")])
    assert tab.strip.isVisible()
    assert tab.ledger.isVisible()
    qtbot.waitUntil(lambda: tab.strip.label.text() == "0 of 1 files")
    qtbot.mouseClick(tab.strip.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not tab.busy)
    assert not tab.strip.isVisible()
    assert "1 cancelled" in tab.banner.text()


def test_a_drop_made_during_an_import_waits_its_turn(qtbot, tab, workspace, lanes):
    order, go_on = [], threading.Event()

    def one_by_one(paths, config, workspace, stop):
        order.append(paths[0].name)
        go_on.wait()
        return (yield from reads_all(paths, config, workspace, stop))

    controller = CorpusController(tab, workspace, lanes, import_task=one_by_one)
    drop(tab, files("/docs/first"))
    drop(tab, files("/docs/second"))
    qtbot.waitUntil(lambda: order == ["first"])
    assert "1 more waiting" in tab.strip.label.text()
    with qtbot.waitSignals([controller.imported, controller.imported]):
        go_on.set()
    assert order == ["first", "second"]
    qtbot.waitUntil(lambda: not tab.busy)


def test_a_failure_is_told_with_its_remedy_and_the_next_import_works(qtbot, tab, workspace, lanes):
    def fails(paths, config, workspace, stop):
        raise MissingPathError(paths[0])
        yield

    controller = CorpusController(tab, workspace, lanes, import_task=fails)
    controller.add([Path("/docs/gone.txt")])
    qtbot.waitUntil(tab.banner.isVisible)
    error = MissingPathError(Path("/docs/gone.txt"))
    assert tab.banner.text() == f"{error.message} {error.remedy}"
    qtbot.waitUntil(lambda: not tab.busy)
    assert tab.first_start.isVisible()


def test_notices_and_the_summary_stand_beside_each_other(qtbot, tab, workspace, lanes):
    def without_ocr(paths, config, workspace, stop):
        yield Notice("Tesseract is not installed.")
        yield Notice("Tesseract is not installed.")
        yield imported(paths[0], "failed", "It is damaged.")
        return finished(0, failed=1)

    controller = CorpusController(tab, workspace, lanes, import_task=without_ocr)
    with qtbot.waitSignal(controller.imported):
        controller.add([Path("/docs/scan.png")])
    assert tab.banner.text() == (
        "Tesseract is not installed. 0 read, 1 could not be read. The Note column says why."
    )
    qtbot.waitUntil(lambda: not tab.busy)


def test_the_sample_is_written_and_told_apart(qtbot, tab, workspace, lanes):
    def sample(workspace, config, stop):
        yield FileWritten("/docs/a.txt", 10)
        return (yield from reads_all([Path("/docs/a.txt")], config, workspace, stop))

    controller = CorpusController(tab, workspace, lanes, sample_task=sample)
    with qtbot.waitSignals([controller.sample_imported, controller.imported]):
        controller.add_sample()
    qtbot.waitUntil(lambda: not tab.busy)


# Looking, with the real import


@pytest.fixture
def two_documents(qtbot, tab, workspace, lanes, tmp_path):
    (tmp_path / "olive.txt").write_text("Olive lives by the brook.", encoding="utf-8")
    (tmp_path / "sheep.py").write_text("def bleat():\n    return 'baa'\n", encoding="utf-8")
    controller = CorpusController(tab, workspace, lanes)
    with qtbot.waitSignal(controller.imported, timeout=60_000):
        drop(tab, files(tmp_path / "olive.txt", tmp_path / "sheep.py"))
    qtbot.waitUntil(lambda: not tab.busy)
    return controller


def choose(tab, name):
    documents = tab.ledger.documents
    model = documents.model()
    for row in range(model.rowCount()):
        if model.index(row, 1).data() == name:
            documents.selectRow(row)


def text_of(tab):
    return tab.ledger.preview.text.toPlainText()


def test_dropped_files_are_read_into_the_library(tab, workspace, two_documents):
    with Library(workspace.library) as library:
        assert sorted(row.name for row in library.rows()) == ["olive.txt", "sheep.py"]
    assert "2 documents" in tab.tools.totals.text()
    assert "tokens (estimated)" in tab.tools.totals.text()


def test_the_cursor_shows_the_text_that_was_read(tab, two_documents):
    choose(tab, "olive.txt")
    assert text_of(tab) == "Olive lives by the brook."


def test_source_code_is_shown_with_letters_of_one_width(tab, two_documents):
    choose(tab, "olive.txt")
    prose = tab.ledger.preview.text.font().family()
    choose(tab, "sheep.py")
    assert "bleat" in text_of(tab)
    assert tab.ledger.preview.text.font().family() != prose


def test_a_document_that_is_unticked_leaves_the_corpus(tab, workspace, two_documents):
    box = tab.ledger.documents.model().index(0, USE)
    tab.ledger.documents.model().setData(box, Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    with Library(workspace.library) as library:
        assert library.totals().documents == 1
    assert "1 document ·" in tab.tools.totals.text()


def test_the_next_start_shows_what_was_read(qtbot, workspace, lanes, two_documents):
    later = CorpusTab()
    qtbot.addWidget(later)
    CorpusController(later, workspace, lanes, later)
    assert later.table.rowCount() == 2


def test_a_file_that_could_not_be_read_shows_why_and_what_to_do(tab):
    row = DocumentRow(1, "/docs/a.pdf", "a.pdf", "pdf", "failed", "It is damaged.", 0, 0, 9, -1.0, True)
    tab.show_document(row, "")
    assert text_of(tab).startswith("It is damaged.")
    assert "another program" in text_of(tab)


def test_a_text_that_goes_on_behind_its_preview_says_so(tab):
    row = DocumentRow(1, "/docs/a.txt", "a.txt", "text", "done", "", 0, LONGEST + 1, 9, -1.0, True)
    tab.show_document(row, "x" * LONGEST)
    assert text_of(tab).startswith("x" * LONGEST)
    assert "The preview ends here" in text_of(tab)


def test_every_control_has_a_tooltip_and_a_name(tab):
    for name in (
        "addButton",
        "sampleButton",
        "ocrBox",
        "languagesEdit",
        "filterBox",
        "documentTable",
        "documentPreview",
    ):
        widget = tab.findChild(object, name)
        assert widget.toolTip(), name
        assert widget.accessibleName() or widget.text(), name
