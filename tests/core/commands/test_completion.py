"""What a shell completes, as it asks: by environment variables."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.runs.folder import Workspace

ROOT = Path(__file__).parents[3]
INSTALLED = (
    "import sys; sys.argv = ['sheepop']; import main; sys.exit(main.main())"  # as the path's command does
)


@pytest.fixture
def completed(trained):
    """The candidates that a shell gets for the last word of a line."""

    def complete(line, shell="bash", workspace=trained.root):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        if shell != "bash":
            words = {"_TYPER_COMPLETE_ARGS": line}
        asked = {"_SHEEPOP_COMPLETE": f"complete_{shell}", "SHEEPOP_WORKSPACE": str(workspace)}
        process = subprocess.run(
            [sys.executable, "-c", INSTALLED],
            cwd=ROOT,
            env=os.environ | words | asked,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.stderr == ""
        return process.stdout.split("\n")[:-1] if process.stdout.strip() else []

    return complete


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("sheepop gen", ["generate"]),
        ("sheepop generate ", ["first"]),
        ("sheepop generate first --checkpoint ", ["best", "last", "6"]),
        ("sheepop generate first --sampler P", ["Precise"]),
        ("sheepop export first@l", ["first@last"]),
        ("sheepop train --preset star", ["starter"]),
        ("sheepop train --set training.precision=b", ["training.precision=bfloat16"]),
        ("sheepop train --set model.n_he", ["model.n_heads="]),
        ("sheepop generate nobody --checkpoint ", []),
    ],
)
def test_names_are_completed(completed, line, some):
    found = completed(line)
    assert set(some) <= set(found)
    assert some or not found


def test_a_name_with_a_space_is_quoted_for_bash_alone(completed, trained, tmp_path):
    workspace = Workspace(shutil.copytree(trained.root, tmp_path / "copy"))
    workspace.run("first").root.rename(workspace.run("my first").root)
    assert completed("sheepop run m", workspace=workspace.root) == [r"my\ first"]
    assert completed("sheepop run m", "zsh", workspace.root) == ["""_arguments '*: :(("my first"))'"""]


def test_a_workspace_that_is_not_there_completes_nothing(completed, tmp_path):
    assert completed("sheepop generate ", workspace=tmp_path / "nowhere") == []
    assert not (tmp_path / "nowhere").exists()
