"""Try the sample: each step leads to the next where it came to a good end, and nowhere otherwise."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject, Signal

from app.window.first_run import STEPS, FirstRun
from core.config.corpus import CleaningConfig, CorpusConfig
from core.config.presets import DEFAULT_PRESET, preset_run
from core.events.documents import ImportFinished
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.sample.meadow import held_out_questions


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path / "workspace")
    workspace.prepare()
    return workspace


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
def tour(queues, workspace):
    corpus, train, chat = FakeCorpus(), FakeTrain(), FakeChat()
    return SimpleNamespace(
        corpus=corpus, train=train, chat=chat, first_run=FirstRun(workspace, corpus, train, chat, queues)
    )


def train(qtbot, tour):
    """Go on up to the training."""
    with qtbot.waitSignal(tour.first_run.training_begun):
        tour.first_run.begin()


def test_the_sample_leads_to_training_with_the_default_preset(qtbot, tour):
    train(qtbot, tour)
    name, run = tour.train.started
    assert (name, run.cleaning) == ("first", CleaningConfig(ligatures=False))
    defaults = {"cleaning": CleaningConfig(), "corpus": CorpusConfig()}
    assert run.model_copy(update=defaults) == preset_run(DEFAULT_PRESET)


def test_the_sample_is_trained_on_alone(qtbot, tour, workspace):
    train(qtbot, tour)
    assert tour.train.started[1].corpus == CorpusConfig(folder=str(workspace.sample))


def test_the_way_through_the_sample_has_three_named_steps(qtbot, tour):
    reached = []
    tour.first_run.step_reached.connect(reached.append)
    train(qtbot, tour)
    tour.train.run_ended.emit("first", "finished")
    assert [STEPS[place] for place in reached] == ["Read the documents", "Train", "Chat"]


def test_another_run_that_trains_keeps_the_sample_waiting_and_says_so(qtbot, tour):
    tour.train.active = True
    with qtbot.waitSignals([tour.first_run.left, tour.first_run.refused]):
        tour.first_run.begin()
    assert not hasattr(tour.train, "started")


@pytest.mark.parametrize("reason", ["stopped", "failed"])
def test_the_steps_go_where_training_comes_to_no_good_end(qtbot, tour, reason):
    train(qtbot, tour)
    with qtbot.waitSignal(tour.first_run.left):
        tour.train.run_ended.emit("first", reason)


def test_the_steps_go_where_the_sample_cannot_be_read(qtbot, tour):
    with qtbot.waitSignal(tour.first_run.left):
        tour.corpus.sample_failed.emit()


def test_a_finished_sample_run_leads_to_the_chat_with_a_question(qtbot, tour):
    train(qtbot, tour)
    with qtbot.waitSignal(tour.first_run.model_ready):
        tour.train.run_ended.emit("first", "finished")
    assert tour.chat.opened == ("first", held_out_questions()[0].question)


@pytest.mark.parametrize(
    ("name", "reason"), [("first", "stopped"), ("first", "failed"), ("other", "finished")]
)
def test_any_other_end_leaves_the_user_where_he_is(qtbot, tour, name, reason):
    train(qtbot, tour)
    tour.train.run_ended.emit(name, reason)
    assert tour.chat.opened is None


def test_a_cancelled_sample_starts_no_training(qtbot, tour, queues):
    tour.corpus.sample_imported.emit(ImportFinished(3, 0, 0, 0, 4, 1.0))
    qtbot.waitUntil(queues.at_rest)
    assert not hasattr(tour.train, "started")


def test_the_next_tour_takes_a_name_that_is_free(qtbot, tour, workspace):
    folder = workspace.runs / "first"
    folder.mkdir()
    (folder / "run.toml").write_text('preset = "starter"\n', encoding="utf-8")
    train(qtbot, tour)
    assert tour.train.started[0] == "first-2"


def test_the_free_name_is_looked_for_outside_the_windows_thread(qtbot, tour, in_window):
    looked = in_window(Catalog, "unused_name")
    train(qtbot, tour)
    assert looked == {False}


def test_runs_that_cannot_be_listed_end_the_tour_in_a_sentence(qtbot, tour, monkeypatch):
    def refuse(catalog, stem):
        raise PermissionError(13, "Permission denied", "runs")

    monkeypatch.setattr(Catalog, "unused_name", refuse)
    with qtbot.waitSignals([tour.first_run.left, tour.first_run.refused]):
        tour.first_run.begin()
    assert not hasattr(tour.train, "started")
