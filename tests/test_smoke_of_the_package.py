"""The smoke run of the frozen program: a program that does not do what it should passes no check."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")

SCRIPT = Path(__file__).parents[1] / "packaging" / "smoke.py"


@pytest.fixture
def smoke():
    spec = importlib.util.spec_from_file_location("smoke", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("lines", ["exit 3", "exit 0", "echo 'Traceback (most recent call last):'"])
def test_a_program_that_does_nothing_right_passes_no_check(smoke, tmp_path, capsys, lines):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    assert smoke.main([str(program)]) == 1
    printed = capsys.readouterr().out
    assert printed.count("FAILED") == len(smoke.CHECKS)
    assert f"0 of {len(smoke.CHECKS)} checks passed" in printed
