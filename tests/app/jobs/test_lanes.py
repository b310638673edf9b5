"""One job at a time in a lane, the next ones behind it; lanes run beside each other."""

import threading
import time

import pytest

from app.jobs.lanes import Lanes


def endless(stop):
    while not stop.asked:
        yield 0
    return "stopped"


def short(stop):
    yield 1
    return "done"


@pytest.fixture
def lanes(qtbot):
    made = Lanes()
    yield made
    made.stop_all()
    qtbot.waitUntil(made.at_rest)


def test_a_lane_is_busy_from_start_to_end(qtbot, lanes):
    told = []
    lanes.busy_changed.connect(lambda lane, busy: told.append((lane, busy)))
    with qtbot.waitSignal(lanes.idle):
        lanes.start("corpus", short)
        assert lanes.active() == ["corpus"]
    assert lanes.active() == []
    assert told == [("corpus", True), ("corpus", False)]


def test_a_second_job_waits_for_the_first(qtbot, lanes):
    opened = []

    def watched(stop):
        opened.append("second")
        yield 1

    first = lanes.start("corpus", endless)
    second = lanes.start("corpus", watched)
    with qtbot.waitSignal(first.arrived):
        pass
    assert opened == []
    with qtbot.waitSignals([first.ended, second.ended], order="strict"):
        first.stop()
    assert opened == ["second"]


def test_a_lane_stays_busy_while_work_waits(qtbot, lanes):
    told = []
    lanes.busy_changed.connect(lambda _lane, busy: told.append(busy))
    lanes.start("corpus", short)
    lanes.start("corpus", short)
    qtbot.waitUntil(lambda: not lanes.active())
    assert told == [True, False]


def test_lanes_do_not_wait_for_each_other(qtbot, lanes):
    lanes.start("training", endless)
    lanes.start("chat", short)
    qtbot.waitUntil(lambda: lanes.active() == ["training"])


def test_whoever_listens_to_a_job_hears_of_its_end_before_the_lane_is_idle(qtbot, lanes):
    heard = []
    lanes.idle.connect(lambda: heard.append("idle"))
    job = lanes.start("corpus", short)
    job.ended.connect(heard.append)
    qtbot.waitUntil(lambda: "idle" in heard)
    assert heard == ["done", "idle"]


def test_a_failed_job_lets_the_next_one_start(qtbot, lanes):
    def fails(stop):
        yield 1
        raise ValueError("no")

    lanes.start("corpus", fails)
    with qtbot.waitSignal(lanes.start("corpus", short).ended):
        pass


def test_stopping_a_lane_ends_those_that_wait_as_well(qtbot, lanes):
    first, second = lanes.start("corpus", endless), lanes.start("corpus", endless)
    with qtbot.waitSignals([first.ended, second.ended]):
        lanes.stop("corpus")


def test_what_is_begun_while_closing_down_ends_at_once(qtbot, lanes):
    lanes.start("training", endless)
    with qtbot.waitSignal(lanes.idle):
        lanes.close_down()
        lanes.start("chat", endless)


def test_waiting_for_all_leaves_no_thread(qtbot, lanes):
    job = lanes.start("training", endless)
    lanes.stop_all()
    assert lanes.wait_all(5000)
    with qtbot.waitSignal(job.ended):
        pass


def test_a_quiet_lane_keeps_nobody_busy(qtbot, lanes):
    job = lanes.start("library", endless)
    assert lanes.active() == []
    assert not lanes.at_rest()
    with qtbot.assertNotEmitted(lanes.idle), qtbot.waitSignal(job.ended):
        job.stop()
    qtbot.waitUntil(lanes.at_rest)


def test_closing_down_ends_the_quiet_lanes_too(qtbot, lanes):
    lanes.start("watch", endless)
    lanes.close_down()
    qtbot.waitUntil(lanes.at_rest)


def test_waiting_for_all_takes_one_time_out_however_many_do_not_end(qtbot, lanes):
    may_end = threading.Event()

    def stubborn(stop):
        yield 0
        may_end.wait(10)

    for lane in ("training", "chat", "watch", "library"):
        lanes.start(lane, stubborn)
    began = time.monotonic()
    assert not lanes.wait_all(300)
    assert time.monotonic() - began < 4 * 0.3
    assert lanes.at_work() == ["training", "chat", "library", "watch"]
    may_end.set()
