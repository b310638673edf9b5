"""A program that is killed while replies stream loses no message that was whole."""

import contextlib
import multiprocessing
import random
import threading

import pytest

from core.conversations.store import ConversationStore
from tests.app.tabs.chat.talk_until_killed import talk
from tests.app.tabs.chat.test_with_a_model import make_run

KILLS = 20


@pytest.fixture
def processes():
    """Makes processes that have Qt and torch from the beginning, where the system can: loading takes most of a kill's time."""
    begun_by = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(begun_by)
    context.set_forkserver_preload(["core.tasks.chat.reply", talk.__module__, "torch"])
    return context


def talk_until(processes, workspace, messages, seconds):
    """The messages that a process said to be kept, which was killed so long after so many of them."""
    told, tells = processes.Pipe(duplex=False)
    process = processes.Process(target=talk, args=(workspace.root, tells))
    process.start()
    tells.close()  # ours, so that the end of the other one is the end
    kept = [told.recv() for _ in range(messages)]
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    with told, contextlib.suppress(EOFError):
        while True:
            kept.append(told.recv())
    timer.join()
    process.join()
    process.close()
    return kept


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_finished_message_is_there_after_twenty_kills(tmp_path, processes):
    workspace = make_run(tmp_path)
    kept = []
    for _ in range(KILLS):
        kept += talk_until(processes, workspace, random.randint(2, 6), random.uniform(0.0, 0.1))
    assert len(kept) >= 2 * KILLS
    with ConversationStore(workspace.conversations, for_reading=True) as store:
        assert store._database.query("PRAGMA integrity_check") == [("ok",)]
        found = [message for one in store.summaries() for message in store.load(one.id).messages]
    assert set(kept) <= set(found)
