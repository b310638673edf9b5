"""What `bench train` compares: its second peer, its counts of operations, its profile, and its rows."""

import numpy as np
import pytest
import torch

from core.batches.token_file import TokenFileWriter
from core.bench import train as bench_train_file
from core.bench.nanogpt import NanoGPT, nanogpt_batch, nanogpt_optimizer, nanogpt_step
from core.bench.shapes import NO_BFLOAT16, SHAPES, shape_of
from core.bench.steps import NanoGPTSteps, OurSteps, TransformersSteps
from core.bench.subjects import beside, busy_processes
from core.bench.train import NANOGPT, PEER_TRAIN, PRODUCTS, bench_train
from core.config.model import ModelConfig
from core.config.presets import preset_run
from core.control import StopToken
from core.errors.base import BadSettingError
from core.errors.runs import DeviceMissingError
from core.events.base import Notice
from core.events.bench import BenchCompared, BenchFact, BenchMeasured
from core.model.requirements import model_flops_per_token
from tests.core.bench.in_process import subject_in_process

MODEL = ModelConfig.model_validate(
    preset_run("gpt2").model.model_dump()
    | {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 32, "context_length": 16}
)
V, B = 11, 3
FLOAT32 = {"precision": "float32", "attention": "sdpa", "threads": 1}
BFLOAT16_MUON = FLOAT32 | {"precision": "bfloat16", "optimizer": "muon"}


@pytest.fixture
def tokens(tmp_path):
    with TokenFileWriter(tmp_path / "tokens.bin", "uint16") as file:
        file.append(np.arange(200) % V)
    return tmp_path / "tokens.bin"


def test_nanogpt_has_its_published_weights_and_no_biases():
    shapes = {name: tuple(tensor.shape) for name, tensor in NanoGPT(MODEL, V).named_parameters()}
    assert not [name for name in shapes if name.endswith("bias")]
    block = 2 * 8 + 8 * 24 + 8 * 8 + 8 * 32 + 32 * 8  # two norms, qkv, out, up, down
    assert sum(np.prod(shape) for shape in shapes.values()) == V * 8 + 16 * 8 + 2 * block + 8


def test_at_the_size_that_is_published_nanogpt_counts_what_is_published():
    """10.65 M weights for six layers of width 384, positions left out, and 65 characters, as its log prints them."""
    model = NanoGPT(SHAPES["M"][0], 65)
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert f"{(counted - model.position_embedding.weight.numel()) / 1e6:.2f}" == "10.65"


def test_nanogpt_sees_nothing_of_what_comes_later():
    model = NanoGPT(MODEL, V).eval()
    ids = torch.arange(16)[None] % V
    changed = ids.clone()
    changed[0, 9] = 0
    assert torch.equal(model(ids)[0, :9], model(changed)[0, :9])
    assert not torch.equal(model(ids)[0, 9:], model(changed)[0, 9:])


def test_nanogpt_decays_matrices_only():
    decayed, free = nanogpt_optimizer(NanoGPT(MODEL, V), 1e-3, 0.95).param_groups
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.1, 0.0)
    assert {parameter.dim() for parameter in decayed["params"]} == {2}
    assert {parameter.dim() for parameter in free["params"]} == {1}


def test_nanogpt_learns_a_text_that_repeats_itself(tokens):
    torch.manual_seed(0)
    model = NanoGPT(MODEL, V)
    optimizer = nanogpt_optimizer(model, 1e-2, 0.95)
    losses = [
        nanogpt_step(model, optimizer, nanogpt_batch(tokens, 16, B), is_bfloat16=False).item()
        for _ in range(60)
    ]
    assert losses[-1] < losses[0] / 2


def test_a_batch_of_nanogpt_holds_windows_and_what_follows(tokens):
    x, y = nanogpt_batch(tokens, 16, B)
    assert x.shape == y.shape == (B, 16)
    assert torch.equal((x + 1) % V, y)


def test_operations_are_counted_for_products_alone():
    weights = 2 * (3 * 8 * 8 + 8 * 8 + 2 * 8 * 32) + 8 * V  # by hand: the products', and the head's
    norms_and_biases = 2 * (4 * 8 + 24 + 8 + 32 + 8) + 2 * 8
    assert model_flops_per_token(MODEL, V) == 6 * (weights + norms_and_biases) + 12 * 2 * 8 * 16


def test_a_look_up_that_shares_no_weights_with_the_head_is_not_counted():
    untied = MODEL.model_copy(update={"tied_embeddings": False})
    assert model_flops_per_token(untied, V) == model_flops_per_token(MODEL, V)


@pytest.mark.parametrize(
    "make",
    [
        lambda tokens: OurSteps(MODEL, V, B, 2, tokens, FLOAT32),
        lambda tokens: OurSteps(MODEL, V, B, 2, tokens, BFLOAT16_MUON),
        lambda tokens: NanoGPTSteps(MODEL, V, B, 2, tokens, False),
    ],
)
def test_a_profile_names_every_part_and_their_shares_make_one_whole(tokens, make):
    shares = make(tokens).shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert all(share > 0 for share in shares.values())
    parts = {"attention", "feed-forward", "norms", "embedding"}
    ways = {f"{part}, {way}" for part in parts for way in ("forward", "backward")}
    rest = {"head and loss", "optimizer", "batch", "clipping and reading the loss", "residuals and the rest"}
    assert set(shares) == ways | rest


@pytest.mark.parametrize(
    "make",
    [
        lambda tokens: OurSteps(MODEL, V, B, 2, tokens, FLOAT32),
        lambda tokens: NanoGPTSteps(MODEL, V, B, 2, tokens, False),
        lambda _: TransformersSteps(MODEL, V, B, 2),
    ],
)
def test_every_subject_counts_the_tokens_that_its_steps_read(tokens, make):
    assert make(tokens)() == 2 * B * 16


def test_busy_processes_work_only_while_the_subject_does():
    with busy_processes(0) as flag:
        assert beside(flag, lambda: float(flag.is_set()))() == 1.0
        assert not flag.is_set()


@pytest.mark.parametrize(
    ("formats", "are_processes"),
    [
        pytest.param(["float32"], True, marks=pytest.mark.slow),  # six processes, of which four load torch
        (["float32", "bfloat16"], False),
    ],
)
def test_all_rows_are_measured_beside_both_peers(monkeypatch, formats, are_processes):
    for process in () if are_processes else ("peer_process", "our_process"):
        monkeypatch.setattr(bench_train_file, process, subject_in_process)
    monkeypatch.setattr(bench_train_file, "_formats", lambda _: formats)
    monkeypatch.setitem(SHAPES, "minute", (MODEL, V, B, 1))
    monkeypatch.setattr(bench_train_file, "PRODUCT_SIZE", {"cpu": 64})
    monkeypatch.setattr(
        bench_train_file, "OURS", {"ours": FLOAT32, "ours, bfloat16": {"precision": "bfloat16"}}
    )
    events = list(bench_train("minute", 1, StopToken(), busy=1, profile=True, device="cpu"))
    rows = [event for event in events if isinstance(event, BenchMeasured)]
    names = [PEER_TRAIN, *(NANOGPT[name] for name in formats), *["ours", "ours, bfloat16"][: len(formats)]]
    assert [row.subject for row in rows] == names
    assert all(row.lowest_ratio <= row.ratio_to_peer <= row.highest_ratio for row in rows)
    compared = {(event.subject, event.other) for event in events if isinstance(event, BenchCompared)}
    assert compared >= {(name, "to nanoGPT, float32") for name in ("ours",)}
    assert compared >= {(f"{name}: step time", "beside 1 busy") for name in names}
    facts = {event.subject: event for event in events if isinstance(event, BenchFact)}
    for name in names:
        assert facts[f"{name}: memory"].value > 100
        assert facts[f"{name}: share of peak"].value > 0
    assert "ours: optimizer" in facts
    told = any(isinstance(event, Notice) and event.text == NO_BFLOAT16 for event in events)
    assert told == ("bfloat16" not in formats)


@pytest.mark.parametrize(
    ("device", "error"),
    [
        ("tpu", BadSettingError),
        pytest.param(
            *("cuda", DeviceMissingError),
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is one"),
        ),
    ],
)
def test_a_device_that_is_not_there_is_said_before_anything_starts(device, error):
    with pytest.raises(error) as refused:
        list(bench_train("S", 1, StopToken(), device=device))
    assert device in refused.value.message


def test_gpt2_is_timed_at_its_whole_context():
    model, vocab_size, _, _ = shape_of("gpt2")
    assert (model.context_length, vocab_size) == (1024, 50_257)


def test_a_number_format_without_a_measured_peak_has_no_share_of_it():
    class Trainer:
        def ask(self, method):
            return {"precision": "float16", "plan": "in float16", "device_mib": 7.0}[method]

        def peak_mib(self):
            return 5.0

    rates = {"ours": [3.0], PRODUCTS["float32"]: [1.0]}
    facts = bench_train_file._facts("gpt2", rates, {"ours": Trainer()}, 6, "cuda")
    found = {fact.subject: fact.value for fact in facts if isinstance(fact, BenchFact)}
    assert found == {"matrix multiply, float32, 8,192": 1000.0, "ours: memory": 5.0, "ours: GPU memory": 7.0}
