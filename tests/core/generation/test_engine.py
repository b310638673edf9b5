"""Rows that come and go get the tokens that each would get by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import ContextMoved
from core.generation import engine as engine_module
from core.generation.context import Conversation
from core.generation.decoding import decode
from core.generation.engine import Engine
from core.generation.row import PLAIN_TEXT, Decoded, Row

VOCABULARY = 15
USER, ASSISTANT = 13, 14
POSITIONS = ["learned", "sinusoidal", "rotary", "none"]
FAMILY = {"norm_type": "rms_norm", "qk_norm": True, "activation": "swiglu"}
CONVERSATION = Conversation(USER, ASSISTANT)

token_ids = st.integers(1, 12)
plain_prompts = st.lists(token_ids, min_size=1, max_size=14)
turns = st.lists(token_ids, min_size=1, max_size=4)
conversations = st.lists(turns, min_size=1, max_size=5).map(
    lambda said: (
        [0, *(t for i, turn in enumerate(said) for t in ((USER, ASSISTANT)[i % 2], *turn)), ASSISTANT]
        if len(said) % 2
        else [0, USER, *said[0], ASSISTANT]
    )
)
samplings = st.builds(
    SamplingConfig,
    temperature=st.sampled_from([0, 0.8, 2]),
    top_k=st.sampled_from([0, 3]),
    top_p=st.sampled_from([1, 0.9]),
    min_p=st.sampled_from([0, 0.05]),
    repetition_penalty=st.sampled_from([1, 1.3]),
    max_new_tokens=st.integers(1, 20),
    seed=st.integers(0, 99),
)
requests = st.tuples(
    plain_prompts.map(lambda ids: (ids, PLAIN_TEXT)) | conversations.map(lambda ids: (ids, CONVERSATION)),
    samplings,
    st.integers(0, 12),  # the step before which it arrives
    st.none() | st.integers(1, 6),  # the token after which its client goes away
)


def alone(model, prompt, config, policy=PLAIN_TEXT):
    return list(decode(model, prompt, config, StopToken(), policy))


def run(engine, arrivals):
    """What each row got: (prompt, policy), sampling, step of arrival, number of tokens until it is left."""
    waiting, rows, taken, step = list(enumerate(arrivals)), {}, [[] for _ in arrivals], 0
    while waiting or rows:
        for each in [each for each in waiting if each[1][2] <= step][: engine.free_slots]:
            number, ((prompt, policy), config, _, leaves_after) = each
            row = Row(prompt, config, policy)
            slot = engine.admit(row)
            assert slot not in rows
            rows[slot] = (number, row, leaves_after)
            waiting.remove(each)
        for slot, event in engine.step():
            taken[rows[slot][0]].append(event)
        for slot, (number, row, leaves_after) in list(rows.items()):
            if row.done or is_whole(taken[number], leaves_after):
                engine.release(slot)
                del rows[slot]
        step += 1
        assert engine.active == len(rows)
    return taken


def tokens(steps):
    return [step if isinstance(step, ContextMoved) else (step.token_id, step.context_used) for step in steps]


def expected(model, arrival):
    (prompt, policy), config, _, leaves_after = arrival
    steps = []
    for step in decode(model, prompt, config, StopToken(), policy):
        steps.append(step)
        if is_whole(steps, leaves_after):
            break
    return steps


def is_whole(steps, leaves_after):
    """Whether the client has gone away, or the reply has ended with the token of a role."""
    drawn = [step.token_id for step in steps if isinstance(step, Decoded)]
    return len(drawn) == leaves_after or drawn[-1:] in ([USER], [ASSISTANT])


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr(engine_module, "PROMPT_TOKENS", 3)


@pytest.fixture(params=POSITIONS)
def model(small_model, request):
    return small_model(request.param)


@settings(max_examples=8)
@given(st.lists(requests, min_size=1, max_size=6), st.integers(1, 4))
def check_against_alone(model, arrivals, n_slots):
    found = run(Engine(model, n_slots), arrivals)
    assert list(map(tokens, found)) == [tokens(expected(model, arrival)) for arrival in arrivals]


def test_rows_get_the_tokens_that_they_get_alone(model):
    check_against_alone(model)
