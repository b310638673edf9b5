"""Conversations that cannot be written hold up no others."""

import pytest

from app.jobs.job_queue import JobQueues
from app.tabs.chat.keeper import ConversationKeeper
from core.conversations.message import Conversation, Message


class Disk:
    """Takes conversations; refuses those whose ids are in `refused`."""

    def __init__(self):
        self.refused, self.written = set(), []

    def write(self, conversation, stop):
        if conversation.id in self.refused:
            raise OSError(f"{conversation.id} is refused")
        self.written.append((conversation.id, len(conversation.messages)))
        return
        yield


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def keeper(qtbot, disk):
    keeper = ConversationKeeper(JobQueues(), disk.write)
    keeper.errors = []
    keeper.failed.connect(lambda error: keeper.errors.append(str(error)))
    return keeper


def conversation(name):
    found = Conversation("chat", id=name)
    say(found)
    return found


def say(to):
    number = str(len(to.messages))
    to.messages[number] = Message("", "user", "baa", id=number)


def keep(qtbot, keeper, *conversations):
    with qtbot.waitSignal(keeper.kept):
        for each in conversations:
            keeper.keep(each)
    qtbot.waitUntil(lambda: not keeper.busy)


def test_conversation_that_cannot_be_written_blocks_no_other(qtbot, keeper, disk):
    disk.refused = {"bad"}
    bad, good, other = map(conversation, ("bad", "good", "other"))
    keep(qtbot, keeper, bad, good, other)
    assert (disk.written, keeper.errors) == ([("good", 1), ("other", 1)], ["bad is refused"])


def test_failed_conversation_is_tried_again_and_reported_once(qtbot, keeper, disk):
    disk.refused = {"bad"}
    bad, good = conversation("bad"), conversation("good")
    keep(qtbot, keeper, bad)
    for _ in range(3):
        say(good)
        keep(qtbot, keeper, good)
    assert keeper.errors == ["bad is refused"]
    say(bad)
    disk.refused = set()
    keep(qtbot, keeper, good)
    assert disk.written[-1] == ("bad", 2)
    disk.refused = {"bad"}
    say(bad)
    keep(qtbot, keeper, bad)
    assert keeper.errors == ["bad is refused", "bad is refused"]


def test_full_disk_is_reported_once_for_all_conversations(qtbot, keeper, disk):
    disk.refused = {"a", "b", "c"}
    keep(qtbot, keeper, *map(conversation, "abc"))
    assert keeper.errors == ["a is refused"]


def test_deleted_conversation_is_not_tried_again(qtbot, keeper, disk):
    disk.refused = {"bad"}
    keep(qtbot, keeper, conversation("bad"))
    keeper.forget("bad")
    disk.refused = set()
    keep(qtbot, keeper, conversation("good"))
    assert disk.written == [("good", 1)]
