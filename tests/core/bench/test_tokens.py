import pytest

from core.bench import tokens as bench
from core.control import StopToken
from core.events.bench import BenchMeasured


@pytest.fixture(autouse=True)
def little_text(monkeypatch):
    monkeypatch.setattr(bench, "TEXT_MEGABYTES", 0.05)
    monkeypatch.setattr(bench, "LEARNED_FROM_MEGABYTES", 0.05)
    monkeypatch.setattr(bench, "VOCAB_SIZE", 400)


def test_each_way_is_measured_beside_its_peer():
    rows = list(bench.bench_tokens(1, StopToken()))
    assert all(isinstance(row, BenchMeasured) and row.unit == "MB/s" and row.rate > 0 for row in rows)
    assert [(row.bench, row.subject) for row in rows] == [
        ("char", "a dictionary per character"),
        ("char", "ours"),
        ("bpe", "tokenizers encode_batch"),
        ("bpe", "ours"),
    ]


def test_ids_that_differ_are_no_benchmark(monkeypatch):
    monkeypatch.setattr(bench.ExactEncoder, "encode", lambda _self, texts: [[0] for _ in texts])
    with pytest.raises(AssertionError):
        list(bench.bench_tokens(1, StopToken()))


def test_a_stop_ends_it_before_anything_is_measured():
    stop = StopToken()
    stop.set()
    assert list(bench.bench_tokens(1, stop)) == []
