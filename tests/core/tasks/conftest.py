"""Runs in other states than finished, made once, and copied for each test that asks for one."""

import shutil
from pathlib import Path

import pytest

from core.control import StopToken
from core.events import StepDone
from core.runs.folder import Workspace
from core.tasks.train_model import train_model
from tests.core.conftest import TINY


@pytest.fixture(scope="session")
def stopped_template(tmp_path_factory: pytest.TempPathFactory, filled_template: Path) -> Path:
    workspace = Workspace(shutil.copytree(filled_template, tmp_path_factory.mktemp("stopped") / "workspace"))
    stop = StopToken()
    for event in train_model(workspace, "a", TINY, stop):
        if isinstance(event, StepDone) and event.step == 3:
            stop.set()
    return workspace.root


@pytest.fixture
def stopped(tmp_path: Path, stopped_template: Path) -> Workspace:
    """A workspace whose run "a" was stopped after 3 of 6 steps."""
    return Workspace(shutil.copytree(stopped_template, tmp_path / "stopped"))
