"""bfloat16 only where a trial says that it is worth it, and devices only where they are."""

from types import SimpleNamespace

import pytest
import torch

from core.control import StopRequested, StopToken
from core.training import precision
from core.training.precision import ROUNDS, Precision, choose_device, gpu_format, measured_choice

CPU = torch.device("cpu")


@pytest.fixture
def trial(monkeypatch):
    """Runs a choice on a processor with bfloat16 where steps take so long; gives the choice and the order of steps."""

    def run(seconds, first_of_each=0.0, stop=None):
        clock = SimpleNamespace(now=0.0)
        asked = []

        def step_in(chosen):
            asked.append(chosen.name)
            clock.now += seconds[chosen.name] + (first_of_each if asked.count(chosen.name) == 1 else 0)

        monkeypatch.setattr(precision, "time", SimpleNamespace(perf_counter=lambda: clock.now))
        monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
        return measured_choice(CPU, step_in, stop or StopToken()), asked

    return run


def test_bfloat16_is_chosen_where_it_is_clearly_faster(trial):
    (name, speed_up), _ = trial({"float32": 2.0, "bfloat16": 1.0})
    assert (name, speed_up) == ("bfloat16", pytest.approx(2))


def test_a_small_gain_is_not_worth_the_exactness(trial):
    (name, speed_up), _ = trial({"float32": 1.1, "bfloat16": 1.0})
    assert (name, speed_up) == ("float32", pytest.approx(1.1))


def test_the_trial_takes_turns_and_does_not_count_the_first_step_of_each(trial):
    (name, _), asked = trial({"float32": 0.2, "bfloat16": 0.1}, first_of_each=0.5)
    assert name == "bfloat16"
    assert asked == ["float32", "bfloat16"] * (ROUNDS + 1)


def test_a_large_model_s_few_steps_say_enough(trial):
    (name, _), asked = trial({"float32": 20.0, "bfloat16": 8.0})
    assert name == "bfloat16"
    assert asked == ["float32", "bfloat16"]


def test_a_trial_that_takes_long_ends_inside_a_round(trial):
    (name, speed_up), asked = trial({"float32": 3.0, "bfloat16": 1.5}, first_of_each=0.5)
    assert (name, speed_up) == ("bfloat16", pytest.approx(2))
    assert asked == ["float32", "bfloat16", "float32", "bfloat16", "float32"]


def test_a_time_over_in_the_middle_of_a_round_compares_as_many_of_each(trial):
    (_, speed_up), asked = trial({"float32": 3.0, "bfloat16": 3.0}, first_of_each=1.0)
    assert asked == ["float32", "bfloat16", "float32"]
    assert speed_up == pytest.approx(1)


def test_a_stop_ends_the_trial_without_a_choice(trial):
    stop = StopToken()
    stop.set()
    choice, asked = trial({"float32": 2.0, "bfloat16": 1.0}, stop=stop)
    assert (choice, asked) == (None, [])


def test_a_stop_inside_a_step_ends_the_trial_without_a_choice(monkeypatch):
    def interrupted(_):
        raise StopRequested

    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert measured_choice(CPU, interrupted, StopToken()) is None


def test_a_processor_without_bfloat16_is_not_tried(monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert measured_choice(CPU, pytest.fail, StopToken()) == ("float32", 1.0)


@pytest.mark.parametrize(("has_bfloat16", "name"), [(True, "bfloat16"), (False, "float16")])
def test_a_gpu_computes_in_the_half_type_that_it_has(monkeypatch, has_bfloat16, name):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has_bfloat16)
    assert gpu_format(torch.device("cuda")) == name


def test_other_devices_stay_with_float32():
    assert measured_choice(torch.device("mps"), pytest.fail, StopToken()) == ("float32", 1.0)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_matrix_products_run_in_the_format_and_weights_stay_float32(name):
    layer = torch.nn.Linear(2, 2)
    with Precision(name, CPU).autocast():
        assert layer(torch.ones(1, 2)).dtype == getattr(torch, name)
    assert layer.weight.dtype == torch.float32


@pytest.mark.parametrize(("name", "scaled"), [("float32", False), ("bfloat16", False), ("float16", True)])
def test_only_float16_scales_its_loss(name, scaled):
    assert Precision(name, CPU).scaler.is_enabled() == scaled


def test_auto_takes_the_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")


def test_auto_takes_the_processor_where_there_is_nothing_else(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    assert choose_device("cuda") is None
