"""How hard a text is, and what a run that learns from it is expected to reach."""

import random
import string

import pytest

from core.control import StopRequested, StopToken
from core.events.runs import RunPrepared, StepDone
from core.runs.folder import Workspace
from core.runs.journal import read_events
from core.tasks.training.resume_run import resume_run
from core.tasks.training.train_model import train_model
from core.trainer import text_bits as module
from core.trainer.text_bits import text_bits
from tests.core.conftest import record_texts

FORESEEN = {
    "model.positions": "rotary",
    "model.norm_type": "rms_norm",
    "model.activation": "swiglu",
    "model.previous_token_heads": 1,
    "tokenizer.kind": "bpe",
    "tokenizer.vocab_size": 300,
    "training.optimizer": "muon",
}


def measured(tmp_path, tiny, name, texts):
    workspace = Workspace(tmp_path / name)
    record_texts(workspace, texts)
    return text_bits(workspace, tiny(), StopToken())


def test_noise_is_harder_than_what_repeats_itself(tmp_path, tiny):
    drawn = random.Random(1)
    noise = {f"{n}.txt": "".join(drawn.choices(string.ascii_letters, k=4000)) for n in range(6)}
    same = {f"{n}.txt": f"{n} and again " * 300 for n in range(6)}
    assert measured(tmp_path, tiny, "noise", noise) == pytest.approx(5.7, rel=0.1)  # 52 letters alike
    assert 0 < measured(tmp_path, tiny, "same", same) < 1


def test_it_is_measured_once(filled, tiny, monkeypatch):
    known = text_bits(filled, tiny(), StopToken())
    monkeypatch.setattr(module, "measure", lambda *_: pytest.fail("it is known"))
    assert text_bits(filled, tiny(), StopToken()) == known > 0


def test_without_a_library_nothing_is_known(tmp_path, tiny):
    assert text_bits(Workspace(tmp_path), tiny(), StopToken()) == 0


def test_a_stop_ends_it(filled, tiny):
    stop = StopToken()
    stop.set()
    with pytest.raises(StopRequested):
        text_bits(filled, tiny(), stop)


def expected(workspace, name="first"):
    return [
        event.expected for event in read_events(workspace.run(name).events) if isinstance(event, RunPrepared)
    ]


def test_a_run_of_the_family_begins_with_what_is_expected_of_it_and_goes_on_with_the_same(filled, tiny):
    stop = StopToken()
    for event in train_model(filled, "first", tiny(FORESEEN), stop):
        if isinstance(event, StepDone) and event.step == 2:
            stop.set()
    list(resume_run(filled, "first", {}, StopToken()))
    before, after = expected(filled)
    assert before == after
    assert before[-1][0] == 6
    assert all(0 < low < high for _, low, high in before)


def test_of_another_run_nothing_is_expected(trained):
    assert expected(trained) == [()]


def test_what_was_expected_stays_whatever_became_of_the_library(filled, tiny):
    stop = StopToken()
    for event in train_model(filled, "first", tiny(FORESEEN), stop):
        if isinstance(event, StepDone) and event.step == 2:
            stop.set()
    filled.library.unlink()
    list(resume_run(filled, "first", {}, StopToken()))
    before, after = expected(filled)
    assert before == after != ()
