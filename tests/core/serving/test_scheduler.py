"""What becomes of requests in the thread that decodes."""

from itertools import islice

from core.config.server import ServerConfig
from core.control import StopToken
from core.serving.fields import ChatFields, CompletionFields
from core.serving.work import WorkFailed
from core.serving_events import RequestEnded, RequestProgress, RequestStarted


def work(app, **fields):
    """Something to do that only its length ends."""
    made = app.served.completion_work(CompletionFields(prompt="the", **fields), "", 0.0)
    for choice in made.choices:
        choice.writer._ends = set()
    return made


def run(app, stop=None):
    """Every event until nothing is left to do."""
    return list(
        app.scheduler.run(stop or StopToken(), lambda: bool(app.inbox.qsize() or app.scheduler._open))
    )


def test_requests_are_taken_first_come_first_served(make_app):
    app = make_app(ServerConfig(slots=1), inline=False)
    for length in (5, 2, 3):
        app.desk.submit(work(app, max_tokens=length, temperature=0))
    events = run(app)
    assert [event.id for event in events if isinstance(event, RequestStarted)] == [1, 2, 3]
    assert [event.id for event in events if isinstance(event, RequestEnded)] == [1, 2, 3]


def test_role_tokens_in_any_order_are_continued_beyond_the_context(make_app):
    app = make_app(inline=False)
    user, assistant = app.served.tokenizer.user_id, app.served.tokenizer.assistant_id
    for seed in range(20):  # of which some replies go on for long enough
        prompt = [assistant, user, *[5] * 10]
        fields = CompletionFields(prompt=prompt, max_tokens=30, seed=seed)
        app.desk.submit(app.served.completion_work(fields, "", 0.0))
    ended = [event for event in run(app) if isinstance(event, RequestEnded)]
    assert max(event.tokens for event in ended) > 16
    assert {event.reason for event in ended} <= {"length", "stop"}


def test_a_client_that_leaves_while_it_waits_is_never_given_a_slot(make_app):
    app = make_app(ServerConfig(slots=1), inline=False)
    first, second = work(app, max_tokens=3), work(app, max_tokens=3)
    app.desk.submit(first)
    app.desk.submit(second)
    app.desk.leave(second)
    ended = {event.id: event for event in run(app) if isinstance(event, RequestEnded)}
    assert (ended[2].reason, ended[2].tokens, ended[1].reason) == ("client left", 0, "length")


def test_a_client_that_leaves_frees_all_slots_of_its_replies_before_the_next_token(make_app):
    app = make_app(ServerConfig(slots=3), inline=False)
    gone = work(app, max_tokens=1000, n=5)
    app.desk.submit(gone)
    stream = app.scheduler.run(StopToken(), lambda: True)
    list(islice(stream, 2))  # begun, and some tokens on
    assert app.scheduler._engine.active == 3
    app.desk.leave(gone)
    ended = next(event for event in stream if isinstance(event, RequestEnded))
    assert (ended.reason, app.scheduler._engine.active, len(app.scheduler._waiting)) == ("client left", 0, 0)


def test_memory_that_runs_out_fails_the_requests_and_not_the_server(make_app, monkeypatch):
    app = make_app(inline=False)
    lost = work(app)
    app.desk.submit(lost)
    with monkeypatch.context() as patched:
        patched.setattr(app.scheduler._engine, "step", lambda: (_ for _ in ()).throw(MemoryError))
        [_, ended] = run(app)
    assert ended.reason == "failed"
    [events] = [lost.events.get_nowait() for _ in range(lost.events.qsize())]
    assert [event.status for event in events if isinstance(event, WorkFailed)] == [503]
    app.desk.submit(work(app))
    assert run(app)[-1].reason == "length"


def test_progress_is_reported_a_few_times_a_second(make_app, monkeypatch):
    app = make_app(inline=False)
    monkeypatch.setattr("core.serving.scheduler.PROGRESS_SECONDS", 0.0)
    app.desk.submit(work(app, max_tokens=3, temperature=0))
    progress = [event.tokens for event in run(app) if isinstance(event, RequestProgress)]
    assert progress[:2] == [1, 2]


def test_a_long_prompt_waits_in_the_queue_no_longer_than_the_context(make_app):
    app = make_app(inline=False)
    waiting = work(app, n=2)
    long = app.served.completion_work(CompletionFields(prompt="the cat " * 10_000, n=2), "", 0.0)
    chat = app.served.chat_work(
        ChatFields(messages=[{"role": "user", "content": "the cat " * 10_000}]), "", 0.0
    )
    assert (long.prompt_tokens, waiting.prompt_tokens) == (80_000, 3)
    assert all(len(choice.row.ids) <= 16 for one in (long, chat) for choice in one.choices)
    assert "79,988 older tokens dropped" in long.warnings[0]
