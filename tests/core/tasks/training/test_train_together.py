"""Several processes that torchrun starts, and that train what one process trains."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from core.config.toml import run_to_toml
from core.control import StopToken
from core.events.runs import Evaluated, RunEnded, StepDone
from core.runs.journal import read_events
from core.runs.loading import load_model
from core.tasks.training.train_model import train_model

ROOT = Path(__file__).parents[4]
# main.py, with something that happens in one of the processes after the third step of the first start
DOOR = """
import os, signal, sys
sys.path.insert(0, {root!r})
import main
from core.runs import checkpoint
from core.trainer.session import Session

RANK, TAKEN = int(os.environ["RANK"]), Session.steps

def steps(self, stop, **others):
    for done in TAKEN(self, stop, **others):
        yield done
        if done.step == 3 and RANK == {rank} and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            {happens}

Session.steps = steps
if __name__ == "__main__":
    sys.exit(main.main())
"""
CHANGES = {"model.dropout": 0.0, "training.gradient_accumulation_steps": 2, "training.average_decay": 0.5}


@pytest.fixture
def together(filled, tiny, tmp_path):
    """Trains a run in several processes, with what happens in one of them; gives the exit code and what was said."""

    def train(processes, config, happens="pass", rank=1, restarts=0):
        door, settings = tmp_path / "door.py", tmp_path / "run.toml"
        door.write_text(DOOR.format(root=str(ROOT), happens=happens, rank=rank))
        settings.write_text(run_to_toml(config))
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        run = ["train", str(settings), "--name", "together", "--parallel", "ddp"]
        ended = subprocess.run(
            [sys.executable, *launcher, "--max-restarts", str(restarts), str(door), *run],
            env=os.environ | {"SHEEPOP_WORKSPACE": str(filled.root), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return train


def losses(workspace, name, kind=StepDone):
    return [event.loss for event in read_events(workspace.run(name).events) if isinstance(event, kind)]


def assert_equal_to_one(workspace, config):
    list(train_model(workspace, "alone", config, StopToken()))
    for kind in (StepDone, Evaluated):
        alone = losses(workspace, "alone", kind)
        assert losses(workspace, "together", kind) == pytest.approx(alone, abs=1e-5)
    ids = torch.arange(8)[None]
    one, other = (
        load_model(workspace.run(name), "last").model(ids).detach() for name in ("alone", "together")
    )
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_two_processes_train_what_one_does(together, filled, tiny):
    config = tiny(CHANGES)
    code, said = together(2, config)
    assert code == 0, said
    assert_equal_to_one(filled, config)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 3, 4])
def test_several_processes_train_with_muon_what_one_does(together, filled, tiny, processes):
    config = tiny(CHANGES | {"training.optimizer": "muon"})
    code, said = together(processes, config)
    assert code == 0, said
    assert_equal_to_one(filled, config)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_run_of_which_a_process_was_killed_goes_on_from_its_checkpoint(together, filled, tiny, rank):
    config = tiny(CHANGES)
    code, said = together(2, config, "os.kill(os.getpid(), signal.SIGKILL)", rank, restarts=1)
    assert code == 0, said
    assert_equal_to_one(filled, config)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_stop_of_one_process_stops_all_after_the_same_step(together, filled, tiny, rank):
    code, said = together(2, tiny(CHANGES), "stop.set()", rank)
    assert code == 0, said
    assert len(losses(filled, "together")) == 3
    *_, ended = read_events(filled.run("together").events)
    assert isinstance(ended, RunEnded)
    assert (ended.step, ended.reason) == (3, "stopped")
    assert filled.run("together").checkpoint(3).is_dir()


@pytest.mark.slow
def test_a_full_disk_ends_all_processes_with_its_sentence(together, filled, tiny):
    full = "checkpoint.disk_usage = lambda _: type('Usage', (), {'free': 0})"
    code, said = together(2, tiny(CHANGES), full, rank=0)
    assert code == 1
    assert "error: The disk is full" in said
    assert 'Traceback (most recent call last):\n  File "' + str(ROOT) not in said
    assert not filled.run("together").checkpoint(4).exists()


def test_without_torchrun_the_command_says_how_to_start_it(command, monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    code, _, said = command("train", "--name", "a", "--parallel", "ddp")
    assert code == 2
    assert "torchrun" in said


def test_several_processes_need_a_name(command, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    code, _, said = command("train", "--parallel", "ddp")
    assert code == 2
    assert "--name" in said
