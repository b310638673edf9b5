"""A trained run for the tests of the Models tab."""

import pytest

from core.control import StopToken
from core.runs.folder import Workspace
from core.tasks.training.train_model import train_model
from tests.core.conftest import TEXTS, TINY, record_texts


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory):
    """A workspace with the run "first"."""
    workspace = Workspace(tmp_path_factory.mktemp("models") / "workspace")
    record_texts(workspace, TEXTS)
    list(train_model(workspace, "first", TINY, StopToken()))
    return workspace
