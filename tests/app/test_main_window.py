"""The window holds the tabs together, leads through the sample, and closes without leaving anything running."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QComboBox, QFileDialog

from app.application import CrashHook, failure_box, has_display, run
from app.errors import DEFECT
from app.first_run import STEPS, FirstRun
from app.jobs import job as job_module
from app.main_window import MainWindow
from app.settings import WindowSettings
from core.config.corpus import CleaningConfig, CorpusConfig
from core.config.presets import DEFAULT_PRESET, preset_run
from core.config.run import RunConfig
from core.corpus.duplicates import digest_text
from core.corpus.library import Library
from core.corpus.reading import Digested
from core.documents.document import Document
from core.errors import NoDisplayError
from core.events import FileReading, ImportFinished, RunEnded
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.sample.meadow import held_out_questions
from core.system_errors import WorkspaceError


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path / "workspace")
    workspace.prepare()
    return workspace


@pytest.fixture
def window(qtbot, workspace):
    window = MainWindow(workspace)
    window.show()
    yield window
    leave(qtbot, window)


def leave(qtbot, window):
    """Close a window for good, once the last job has told it of its end."""
    window.queues.close_down()
    qtbot.waitUntil(window.queues.at_rest)
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(window, QEvent.Type.DeferredDelete)


def endless(stop):
    while not stop.asked:
        yield 0


def action(window, words):
    menus = [entry.menu() for entry in window.menuBar().actions()]
    return next(entry for menu in menus for entry in menu.actions() if words in entry.text().replace("&", ""))


def button(window, text):
    return next(b for b in window.question.buttons() if text in b.text())


# Standing


def test_the_window_has_three_tabs_under_their_names(window):
    names = [window.tabs.widget(place).objectName() for place in range(3)]
    assert names == ["corpusTab", "trainTab", "chatTab"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_tab_has_a_key(qtbot, window, place):
    window.tabs.setCurrentIndex((place + 1) % 3)
    qtbot.keySequence(window, QKeySequence(f"Ctrl+{place + 1}"))
    assert window.tabs.currentIndex() == place


def test_it_opens_as_it_was_left(qtbot, window, workspace):
    window.tabs.setCurrentIndex(2)
    window.close()
    again = MainWindow(workspace)
    assert again.tabs.currentIndex() == 2
    leave(qtbot, again)


def test_a_chosen_appearance_is_asked_for_and_remembered(qtbot, window, workspace):
    with qtbot.waitSignal(window.appearance_requested) as wished:
        window.menus.appearance_requested.emit("dark")
    assert wished.args == ["dark"]
    assert WindowSettings(workspace.root).appearance == "dark"


def test_reporting_a_problem_copies_versions_and_log(window, workspace):
    (workspace.root / "studio.log").write_text("the last words", encoding="utf-8")
    window.menus.report_requested.emit()
    report = QGuiApplication.clipboard().text()
    assert "torch" in report
    assert "the last words" in report
    assert "clipboard" in window.corpus_tab.banner.text()


def test_a_defect_in_a_slot_is_owned_in_the_tab_in_front(window):
    window.tabs.setCurrentIndex(1)
    error = KeyError("oops")
    CrashHook(window)(KeyError, error, None)
    assert window.train_tab.banner.text().startswith(DEFECT)


def test_the_boxes_of_runs_are_found_in_their_tabs(window):
    assert window.train_tab.findChild(QComboBox, "runBox") is window.train_tab.chooser.box
    assert window.chat_tab.findChild(QComboBox, "runBox") is window.chat_tab.model_bar.run_box


def test_the_corpus_button_of_the_train_tab_leads_there(window):
    window.tabs.setCurrentIndex(1)
    window.train_tab.corpus_requested.emit()
    assert window.tabs.currentIndex() == 0


def test_the_edit_menu_takes_back_what_was_done_to_documents(qtbot, window, workspace):
    with Library(workspace.library) as library:
        document = Document("/docs/a.txt", "text", sha256="a", text="baa")
        library.record("/docs/a.txt", Digested(document, digest_text("baa")), 3)
    window.corpus.library.refresh()
    qtbot.waitUntil(lambda: window.corpus_tab.table.rowCount() == 1)
    undo = action(window, "Undo")
    assert not undo.isEnabled()
    action(window, "Select").trigger()
    action(window, "Remove").trigger()
    qtbot.waitUntil(lambda: window.corpus_tab.table.rowCount() == 0)
    assert undo.text() == "&Undo remove 1 document"
    assert window.statusBar().currentMessage().startswith("Removed 1 document; the files stay")
    undo.trigger()
    qtbot.waitUntil(lambda: window.corpus_tab.table.rowCount() == 1)


def test_select_all_selects_the_words_where_the_cursor_is_in_a_field(qtbot, window):
    box = window.corpus_tab.documents.filters.filter_box
    window.corpus_tab.show_events([FileReading("/docs/a.txt")])
    box.setText("olive")
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    box.deselect()
    action(window, "Select").trigger()
    assert box.selectedText() == "olive"


def test_a_folder_to_watch_is_asked_for_in_the_file_menu(window):
    window.tabs.setCurrentIndex(2)
    action(window, "Watch").trigger()
    assert window.tabs.currentWidget() is window.corpus_tab
    window.corpus_tab.findChild(QFileDialog).close()


def test_the_chosen_cleaning_reaches_the_form_of_a_run(window):
    window.corpus_tab.documents.preview.cleaning.switch("ligatures").setChecked(False)
    assert window.train_tab.form.value().cleaning == CleaningConfig(ligatures=False)


# Closing


def test_quiet_work_does_not_keep_the_window_from_closing(window):
    window.queues.start("watch", endless)
    assert window.close()
    assert window.question is None


def test_an_idle_window_closes_without_a_question(window):
    assert window.close()
    assert window.question is None


def test_closing_during_a_job_asks_once(qtbot, window):
    window.queues.start("training", endless)
    assert not window.close()
    question = window.question
    assert "training" in question.text()
    assert not window.close()
    assert window.question is question
    button(window, "Stop").click()
    qtbot.waitUntil(lambda: not window.isVisible())


def test_keep_running_keeps_the_window_and_the_job(qtbot, window):
    job = window.queues.start("training", endless)
    window.close()
    qtbot.mouseClick(button(window, "Keep"), Qt.MouseButton.LeftButton)
    assert window.isVisible()
    assert window.queues.active() == ["training"]
    assert window.question is None
    with qtbot.waitSignal(window.queues.idle):
        job.stop()
    assert window.isVisible()


def test_stop_and_close_waits_for_the_step_and_then_closes(qtbot, window):
    ended = []
    window.queues.start("training", endless).ended.connect(ended.append)
    window.queues.start("corpus", endless)
    window.close()
    qtbot.mouseClick(button(window, "Stop"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.isVisible())
    assert ended == [None]
    assert window.queues.active() == []


@pytest.fixture
def stuck(window):
    """A job that does not stop when it is asked to, in a window that was asked to stop and close."""
    may_end = threading.Event()

    def hangs(stop):
        yield 0
        may_end.wait(20)

    window.queues.start("training", hangs)
    window.stop_and_close()
    yield
    may_end.set()


@pytest.fixture
def stuck_in_open_window(window, monkeypatch):
    """The same, where Stop was pressed in a window that stays open."""
    monkeypatch.setattr(job_module, "STOP_TIMEOUT_MS", 20)
    may_end = threading.Event()

    def hangs(stop):
        yield 0
        may_end.wait(20)

    window.queues.start("training", hangs).stop()
    yield may_end
    may_end.set()


def test_a_window_that_waits_for_a_step_can_be_closed_now(qtbot, window, stuck):
    assert window.isVisible()
    assert not window.close()
    assert "has not come to the end" in window.question.informativeText()
    qtbot.mouseClick(button(window, "now"), Qt.MouseButton.LeftButton)
    assert not window.isVisible()
    assert "training" in window.queues.at_work()  # `run` looks at it


def test_a_run_that_is_stopped_for_closing_says_so(qtbot, workspace):
    window, may_end = MainWindow(workspace), threading.Event()

    def hangs(workspace, name, config, stop):
        yield 0
        may_end.wait(20)
        return RunEnded(name, 0, "stopped", None, 0.0)

    window.train._train_model = hangs
    window.train.start("run", RunConfig())
    window.stop_and_close()
    assert window.train_tab.head.status.text().startswith("Stopping…")
    may_end.set()
    qtbot.waitUntil(lambda: not window.queues.active())
    leave(qtbot, window)


def test_closing_offers_to_close_now_where_a_step_does_not_end(qtbot, workspace, monkeypatch):
    monkeypatch.setattr(job_module, "STOP_TIMEOUT_MS", 20)
    window, may_end = MainWindow(workspace), threading.Event()
    window.show()

    def hangs(stop):
        yield 0
        may_end.wait(20)

    window.queues.start("training", hangs)
    window.stop_and_close()
    qtbot.waitUntil(lambda: window.question is not None)
    assert "loses nothing that is saved" in window.question.informativeText()
    may_end.set()
    qtbot.waitUntil(lambda: not window.isVisible())  # it has stopped after all
    leave(qtbot, window)


def test_a_run_that_did_not_stop_in_time_can_be_left_from_its_stop_button(
    qtbot, window, stuck_in_open_window
):
    qtbot.waitUntil(lambda: window.queues.overdue() == ["training"])
    assert window.question is None  # nobody asked to close
    window.train_tab.leave_requested.emit()
    qtbot.mouseClick(button(window, "now"), Qt.MouseButton.LeftButton)
    assert not window.isVisible()


def test_closing_while_a_run_does_not_stop_offers_to_close_now_at_once(qtbot, window, stuck_in_open_window):
    qtbot.waitUntil(lambda: window.queues.overdue() == ["training"])
    window.close()
    assert button(window, "now")


def test_the_offer_goes_when_the_run_has_stopped_after_all(qtbot, window, stuck_in_open_window):
    qtbot.waitUntil(lambda: window.queues.overdue() == ["training"])
    window.train_tab.leave_requested.emit()
    stuck_in_open_window.set()
    qtbot.waitUntil(lambda: window.question is None)
    assert window.isVisible()


def test_waiting_on_keeps_the_window_until_the_step_has_ended(qtbot, window, stuck):
    window.close()
    qtbot.mouseClick(button(window, "Wait"), Qt.MouseButton.LeftButton)
    assert window.isVisible()
    assert window.question is None


def test_a_job_that_ends_under_the_question_needs_no_stopping(qtbot, window):
    job = window.queues.start("training", endless)
    window.close()
    with qtbot.waitSignal(window.queues.idle):
        job.stop()
    qtbot.mouseClick(button(window, "Stop"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.isVisible())


def test_asked_from_outside_it_stops_and_closes_without_a_question(qtbot, window):
    ended = []
    window.queues.start("training", endless).ended.connect(ended.append)
    window.stop_and_close()
    assert window.question is None
    qtbot.waitUntil(lambda: not window.isVisible())
    assert ended == [None]


def test_asked_from_outside_the_standing_question_goes_away(qtbot, window):
    window.queues.start("training", endless)
    window.close()
    window.stop_and_close()
    assert window.question is None
    qtbot.waitUntil(lambda: not window.isVisible())


def test_asked_from_outside_an_idle_window_closes_at_once(window):
    window.stop_and_close()
    assert not window.isVisible()


# Trying the sample


class FakeCorpus(QObject):
    cleaning = CleaningConfig(ligatures=False)
    sample_imported = Signal(object)
    sample_failed = Signal()

    def add_sample(self):
        self.sample_imported.emit(ImportFinished(7, 0, 0, 0, 0, 1.0))


class FakeTrain(QObject):
    run_ended = Signal(str, str)
    active = False

    def start(self, name, config):
        self.started = (name, config)


class FakeChat(QObject):
    opened = None

    def open(self, name, prompt):
        self.opened = (name, prompt)


@pytest.fixture
def tour(qapp, workspace):
    corpus, train, chat = FakeCorpus(), FakeTrain(), FakeChat()
    return SimpleNamespace(
        corpus=corpus, train=train, chat=chat, first_run=FirstRun(workspace, corpus, train, chat)
    )


def test_the_sample_leads_to_training_with_the_default_preset(qtbot, tour):
    with qtbot.waitSignal(tour.first_run.training_begun):
        tour.first_run.begin()
    name, run = tour.train.started
    assert (name, run.cleaning) == ("first", CleaningConfig(ligatures=False))
    defaults = {"cleaning": CleaningConfig(), "corpus": CorpusConfig()}
    assert run.model_copy(update=defaults) == preset_run(DEFAULT_PRESET)


def test_the_sample_is_trained_on_alone(tour, workspace):
    tour.first_run.begin()
    assert tour.train.started[1].corpus == CorpusConfig(folder=str(workspace.sample))


def test_the_way_through_the_sample_has_three_named_steps(tour):
    reached = []
    tour.first_run.step_reached.connect(reached.append)
    tour.first_run.begin()
    tour.train.run_ended.emit("first", "finished")
    assert [STEPS[place] for place in reached] == ["Read the documents", "Train", "Chat"]


def test_another_run_that_trains_keeps_the_sample_waiting_and_says_so(qtbot, tour):
    tour.train.active = True
    with qtbot.waitSignals([tour.first_run.left, tour.first_run.refused]):
        tour.first_run.begin()
    assert not hasattr(tour.train, "started")


@pytest.mark.parametrize("reason", ["stopped", "failed"])
def test_the_steps_go_where_training_comes_to_no_good_end(qtbot, tour, reason):
    tour.first_run.begin()
    with qtbot.waitSignal(tour.first_run.left):
        tour.train.run_ended.emit("first", reason)


def test_the_steps_go_where_the_sample_cannot_be_read(qtbot, tour):
    with qtbot.waitSignal(tour.first_run.left):
        tour.corpus.sample_failed.emit()


def test_the_steps_stand_beside_the_tabs_until_the_chat_is_left(window):
    assert not window.sample_steps.isVisible()
    window.first_run.step_reached.emit(1)
    assert window.sample_steps.isVisible()
    assert window.sample_steps.accessibleName() == "Step 2 of 3: Train"
    window.tabs.setCurrentIndex(2)
    window.first_run.step_reached.emit(2)
    assert window.sample_steps.isVisible()
    window.tabs.setCurrentIndex(0)
    assert not window.sample_steps.isVisible()


def test_a_finished_sample_run_leads_to_the_chat_with_a_question(qtbot, tour):
    tour.first_run.begin()
    with qtbot.waitSignal(tour.first_run.model_ready):
        tour.train.run_ended.emit("first", "finished")
    assert tour.chat.opened == ("first", held_out_questions()[0].question)


@pytest.mark.parametrize(
    ("name", "reason"), [("first", "stopped"), ("first", "failed"), ("other", "finished")]
)
def test_any_other_end_leaves_the_user_where_he_is(tour, name, reason):
    tour.first_run.begin()
    tour.train.run_ended.emit(name, reason)
    assert tour.chat.opened is None


def test_a_cancelled_sample_starts_no_training(tour):
    tour.corpus.sample_imported.emit(ImportFinished(3, 0, 0, 0, 4, 1.0))
    assert not hasattr(tour.train, "started")


def test_the_next_tour_takes_a_name_that_is_free(tour, workspace):
    folder = workspace.runs / "first"
    folder.mkdir()
    (folder / "run.toml").write_text('preset = "starter"\n', encoding="utf-8")
    tour.first_run.begin()
    assert tour.train.started[0] != "first"


# Starting


def test_the_window_imports_without_torch():
    code = "import sys, app.main_window; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_a_display_it_says_so_before_qt_could_abort(monkeypatch, workspace):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not has_display()
    with pytest.raises(NoDisplayError):
        run(workspace)


def test_a_display_that_nobody_serves_is_none(monkeypatch):
    for name in ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", ":7777")
    assert not has_display()


def test_a_workspace_that_cannot_be_made_is_told_in_a_sentence(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    with pytest.raises(WorkspaceError):
        run(Workspace(blocked / "workspace"))


def test_before_there_is_a_window_a_failure_has_a_box_of_its_own(qtbot):
    error = WorkspaceError("/meadow", "it is a file")
    box = failure_box(error)
    qtbot.addWidget(box)
    assert box.text() == error.message
    assert box.informativeText() == error.remedy


# What the window's thread leaves to jobs


@pytest.fixture
def threads(monkeypatch):
    """The threads that opened the library, and those that walked over all runs."""
    seen = SimpleNamespace(library=[], runs=[])
    opens, walks = Library.__init__, Catalog.runs

    def opened(library, path):
        seen.library.append(threading.current_thread())
        opens(library, path)

    def walked(catalog):
        seen.runs.append(threading.current_thread())
        return walks(catalog)

    monkeypatch.setattr(Library, "__init__", opened)
    monkeypatch.setattr(Catalog, "runs", walked)
    return seen


def test_the_windows_thread_never_opens_the_library_nor_walks_the_runs(qtbot, workspace, threads):
    window = MainWindow(workspace)
    window.corpus.library.refresh()
    window.train.refresh()
    window.chat.refresh()
    qtbot.waitUntil(lambda: len(threads.library) >= 3 and len(threads.runs) >= 2)
    leave(qtbot, window)
    assert threading.main_thread() not in [*threads.library, *threads.runs]


def test_a_tick_walks_over_no_runs(qtbot, window, workspace, monkeypatch):
    with Library(workspace.library) as library:
        document = Document("/docs/a.txt", "text", sha256="a", text="baa")
        library.record("/docs/a.txt", Digested(document, digest_text("baa")), 3)
    window.corpus.library.refresh()
    qtbot.waitUntil(lambda: not window.train_tab.empty_corpus.isVisibleTo(window.train_tab))
    qtbot.waitUntil(window.queues.at_rest, timeout=15_000)
    walks = []
    monkeypatch.setattr(Catalog, "runs", walks.append)
    window.corpus.library.include([1], False)
    qtbot.waitUntil(lambda: window.train_tab.empty_corpus.isVisibleTo(window.train_tab))
    assert walks == []


def test_the_button_where_training_ends_opens_that_model_in_the_chat(qtbot, window, monkeypatch):
    opened = []
    monkeypatch.setattr(window.chat, "open", lambda name, prompt: opened.append((name, prompt)))
    window.tabs.setCurrentIndex(1)
    window.train_tab.chat_requested.emit("meadow")
    assert opened == [("meadow", "")]
    assert window.tabs.currentWidget() is window.chat_tab
