"""Comparing with real models: the runs of an old workspace, in the panel."""

import shutil
from pathlib import Path

import pytest

from app.tabs.chat.compare.compare_controller import CompareController
from app.tabs.chat.compare.compare_panel import ComparePanel
from core.config.sampling import SamplingConfig
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from tests.app.showing import context_of

KEPT = Path(__file__).parents[3] / "workspaces" / "0.1-library-3"


@pytest.mark.slow
def test_real_models_write_side_by_side_and_at_every_checkpoint(qtbot, queues, tmp_path, in_window):
    looked = in_window(Catalog, "folder")
    shutil.copytree(KEPT, tmp_path / "old")
    workspace = Workspace(tmp_path / "old")
    panel = ComparePanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.show_sampling(SamplingConfig(seed=1, max_new_tokens=5))
    controller = CompareController(panel, context_of(workspace, queues), panel)
    controller.open("whole", "last")
    qtbot.waitUntil(queues.at_rest)
    panel.show_prompt("the ")
    for button in (panel.two_button, panel.steps_button):
        button.click()
        panel.send_button.click()
        qtbot.waitUntil(lambda: not controller.active)
        assert not panel.banner.isVisible()
    assert all("perplexity" in column.figures.text() for column in panel.two.columns)
    n_steps = len(panel.steps.run.saved_steps)
    assert f"{n_steps} of {n_steps} checkpoint" in panel.steps.figures.text()
    assert looked == {False}
    controller.close()
    qtbot.waitUntil(queues.at_rest)
