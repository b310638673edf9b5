"""The text that the index over a training text is measured on."""

import sysconfig

import pytest

from core.bench import seen as bench_seen
from core.bench.tokens import bench_tokens
from core.control import StopToken
from core.errors.bench import SourcesMissingError


@pytest.fixture
def without_sources(monkeypatch, tmp_path):
    """As in a frozen program: the folders of Python's own files are not there."""
    monkeypatch.setattr(
        sysconfig, "get_paths", lambda: dict.fromkeys(("stdlib", "purelib"), tmp_path / "lib")
    )


def test_without_pythons_sources_it_says_so_instead_of_looking_for_ever(without_sources):
    with pytest.raises(SourcesMissingError):
        next(bench_seen._texts(1))


def test_without_pythons_sources_the_speed_of_tokenizing_is_not_measured(without_sources):
    with pytest.raises(SourcesMissingError):
        next(bench_tokens(1, StopToken()))
