"""A program that is killed while replies stream loses no message that was whole."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from core.conversations.store import ConversationStore
from core.runs.folder import Workspace
from tests.app.tabs.chat.test_with_a_model import make_run

KILLS = 20


def talk_until(workspace: Workspace, messages: int, seconds: float) -> list[str]:
    """The messages that a process said to be kept, which was killed so long after so many of them."""
    command = [sys.executable, "-m", "tests.app.tabs.chat.talk_until_killed", str(workspace.root)]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, cwd=Path.cwd(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        first = [process.stdout.readline() for _ in range(messages)]
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        kept = [*first, *process.stdout]
        timer.join()
    return [line.strip() for line in kept if line.endswith("\n")]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_finished_message_is_there_after_twenty_kills(tmp_path):
    workspace = make_run(tmp_path)
    kept = []
    for _ in range(KILLS):
        kept += talk_until(workspace, random.randint(2, 6), random.uniform(0.0, 0.1))
    assert len(kept) >= 2 * KILLS
    with ConversationStore(workspace.conversations, for_reading=True) as store:
        assert store._database.query("PRAGMA integrity_check") == [("ok",)]
        found = [message for one in store.summaries() for message in store.load(one.id).messages]
    assert set(kept) <= set(found)
