from contextlib import nullcontext

import pytest

from core.bench import generate as generating
from core.bench import train as training
from core.bench.generate import PEER_GENERATE, bench_generate, read_bandwidth
from core.bench.shapes import SHAPES
from core.bench.train import bench_train
from core.config.model import ModelConfig
from core.config.presets import preset_run
from core.control import StopToken
from core.errors.base import BadSettingError
from core.errors.runs import DeviceMissingError
from core.events.bench import BenchFact, BenchMeasured
from tests.core.bench.in_process import subject_in_process

SIZES = {"n_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 12, "context_length": 40}


@pytest.fixture(autouse=True)
def minute_shape(monkeypatch):
    """A shape that is timed at once."""
    model = ModelConfig.model_validate(preset_run("gpt2").model.model_dump() | SIZES)
    monkeypatch.setitem(SHAPES, "minute", (model, 65, 2, 1))
    monkeypatch.setattr(generating, "NEW_TOKENS", 3)
    monkeypatch.setattr(generating, "SUMMED_BYTES", 2**16)


@pytest.mark.slow  # transformers
def test_decoding_is_timed_in_each_format_beside_the_peer(monkeypatch):
    monkeypatch.setattr(generating, "peer_process", subject_in_process)
    events = list(bench_generate("minute", 1, StopToken()))
    subjects = [event.subject for event in events if isinstance(event, BenchMeasured)]
    for way in ("greedy", "sampled"):
        assert f"{PEER_GENERATE}, {way}" in subjects
        assert {f"ours, {weights}, {way}" for weights in ("float32", "auto")} <= set(subjects)
    facts = {event.subject: event for event in events if isinstance(event, BenchFact)}
    assert facts["ours, float32: tokens as the peer's"].value == 3
    assert facts["ours, auto: tokens as the peer's"].value == 3
    assert facts["ours, auto: of the memory's limit"].value > 0


@pytest.mark.parametrize(("module", "task"), [(training, bench_train), (generating, bench_generate)])
def test_a_bench_that_is_stopped_starts_no_peer_and_reports_nothing(module, task, monkeypatch):
    monkeypatch.setattr(module, "peer_process", lambda *_: pytest.fail("a peer was started"))
    stop = StopToken()
    stop.set()
    assert list(task("minute", 1, stop)) == []


def test_a_bench_that_is_stopped_beside_its_first_peer_starts_no_second_one(monkeypatch):
    stop, started = StopToken(), []

    def peer(*_):
        started.append(stop.set())
        return nullcontext(lambda: pytest.fail("a peer was timed"))

    monkeypatch.setattr(generating, "peer_process", peer)
    assert list(bench_generate("minute", 1, stop)) == []
    assert len(started) == 1


@pytest.mark.parametrize("task", [bench_train, bench_generate])
def test_an_unknown_shape_is_reported_with_those_there_are(task):
    with pytest.raises(BadSettingError, match="--shape cannot be 'XL': it is one of S, M, L"):
        list(task("XL", 1, StopToken()))


@pytest.mark.parametrize("task", [bench_train, bench_generate])
def test_a_device_that_is_not_there_is_reported(task, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(DeviceMissingError) as missing:
        list(task("minute", 1, StopToken(), device="cuda"))
    assert missing.value.remedy == "Set --device to auto or cpu."
    with pytest.raises(BadSettingError, match="--device cannot be 'tpu': it is one of auto, cpu, cuda"):
        list(task("minute", 1, StopToken(), device="tpu"))


def test_the_weights_of_a_token_are_those_of_its_matrices():
    model, vocab_size, _, _ = SHAPES["minute"]
    assert generating._weights_read(model, vocab_size) == 4 * 8 * 8 + 2 * 8 * 12 + 65 * 8


def test_the_bandwidth_of_memory_is_measured():
    assert read_bandwidth() > 0
