"""The allocator is told to keep its memory, where there is one that can be told; whatever is printed is written."""

import io
import multiprocessing
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from core import process
from core.process import keep_large_blocks, prepare_process, settle_streams

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


def test_without_a_console_what_is_printed_goes_nowhere(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    settle_streams()
    with sys.stdout:
        print("nobody reads this", flush=True)


def test_a_sign_that_the_console_lacks_is_printed_as_a_question_mark(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="cp1252"))
    settle_streams()
    print("≥ 1", flush=True)
    assert written.getvalue().split() == [b"?", b"1"]
