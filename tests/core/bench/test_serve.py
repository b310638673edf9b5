import pytest

from core.bench import serve as serving
from core.bench.serve import bench_serve
from core.bench.shapes import SHAPES
from core.config.model import ModelConfig
from core.config.presets import preset_run
from core.control import StopToken
from core.errors.base import BadSettingError

SIZES = {"n_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 12, "context_length": 40}


@pytest.fixture(autouse=True)
def minute_shape(monkeypatch):
    """A shape that is timed at once."""
    model = ModelConfig.model_validate(preset_run("gpt2").model.model_dump() | SIZES)
    monkeypatch.setitem(SHAPES, "minute", (model, 65, 2, 1))
    monkeypatch.setattr(serving, "NEW_TOKENS", 3)


def test_more_clients_are_timed_against_one():
    rows = list(bench_serve("minute", 1, StopToken()))
    assert [row.subject for row in rows] == ["1 client", "2 clients", "4 clients", "8 clients"]
    assert rows[0].ratio_to_peer == 1
    assert all(row.rate > 0 for row in rows)


def test_all_tokens_of_all_clients_count():
    model = serving._packed_model(*SHAPES["minute"][:2])
    assert serving.tokens_for(model, 2) == 6


def test_a_bench_that_is_stopped_reports_nothing():
    stop = StopToken()
    stop.set()
    assert list(bench_serve("minute", 1, stop)) == []


def test_a_shape_that_there_is_not_is_refused():
    with pytest.raises(BadSettingError, match="it is one of S, M, L"):
        list(bench_serve("XL", 1, StopToken()))
