import pytest

from core.config.model import ModelConfig
from core.config.presets import preset_run
from core.control import StopToken
from core.errors import BadSettingError
from core.tasks import bench
from core.tasks.bench import PEER_TRAIN, bench_train

SIZES = {"n_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 12, "context_length": 40}


@pytest.fixture(autouse=True)
def minute_shape(monkeypatch):
    """A shape that is timed at once."""
    model = ModelConfig.model_validate(preset_run("gpt2").model.model_dump() | SIZES)
    monkeypatch.setitem(bench.SHAPES, "minute", (model, 65, 2, 1))


def run(stream):
    """The stream's events, once its result turned out to be the same."""
    results = []

    def keep_result():
        results.extend((yield from stream))

    events = list(keep_result())
    assert events == results
    return events


@pytest.mark.slow
def test_training_is_timed_in_each_precision_beside_the_peer():
    rows = run(bench_train("minute", 2, StopToken()))
    assert [row.subject for row in rows] == [PEER_TRAIN, "ours, float32", "ours, bfloat16"]
    assert {(row.bench, row.shape, row.rounds) for row in rows} == {("train", "minute", 2)}
    assert all(row.rate > 0 and row.unit == "tokens/s" for row in rows)


def test_a_bench_that_is_stopped_reports_nothing():
    stop = StopToken()
    stop.set()
    assert run(bench_train("minute", 1, stop)) == []


def test_an_unknown_shape_is_reported_with_those_there_are():
    with pytest.raises(BadSettingError, match="--shape cannot be 'XL': it is one of S, M, L"):
        run(bench_train("XL", 1, StopToken()))
