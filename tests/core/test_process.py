"""The allocator is told to keep its memory, where there is one that can be told."""

import multiprocessing
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from core import process
from core.process import keep_large_blocks, prepare_process

ROOT = Path(__file__).parents[2]


def test_the_c_library_takes_what_it_is_told():
    """In a process of its own, for it lasts. Only glibc can be told, which is not to be had outside Linux."""
    tell = "import core.process, sys; sys.exit(core.process.keep_large_blocks())"
    told = subprocess.run([sys.executable, "-c", tell], cwd=ROOT, check=False).returncode
    assert told == (1 if platform.libc_ver()[0] == "glibc" else 0)


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_are_left_alone(monkeypatch, system):
    monkeypatch.setattr(process.sys, "platform", system)
    monkeypatch.setattr(process.ctypes, "CDLL", pytest.fail)
    assert not keep_large_blocks()


def test_a_c_library_without_the_setting_is_left_alone(monkeypatch):
    monkeypatch.setattr(process.sys, "platform", "linux")
    monkeypatch.setattr(process.ctypes, "CDLL", lambda _: object())
    assert not keep_large_blocks()


def test_worker_processes_of_a_frozen_application_are_prepared_first(monkeypatch):
    done = []
    monkeypatch.setattr(multiprocessing, "freeze_support", lambda: done.append("freeze support"))
    monkeypatch.setattr(process, "keep_large_blocks", lambda: done.append("memory"))
    prepare_process()
    assert done == ["freeze support", "memory"]
