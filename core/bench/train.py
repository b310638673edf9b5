"""Training steps against `transformers` and nanoGPT's recipe: speed, share of the processor's peak, memory.

Every subject works in a process of its own, one at a time; the peers' have none of our settings for processes.
"""

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import Any

import numpy as np

from core.batches.token_file import TokenFileWriter
from core.bench.rounds import Rates, Subject, measured_rows, ratio_of, run_rounds
from core.bench.shapes import NO_BFLOAT16, UNIT, bench_device, shape_of
from core.bench.subjects import SubjectProcess, beside, busy_processes, our_process, peer_process
from core.config.model import ModelConfig
from core.control import StopToken
from core.events.base import Event, Notice, Task
from core.events.bench import BenchCompared, BenchFact, BenchMeasured
from core.model.requirements import model_flops_per_token

PEER_TRAIN = "transformers GPT-2, float32"
NANOGPT = {"float32": "nanoGPT, float32", "bfloat16": "nanoGPT, bfloat16"}
OURS: dict[str, dict[str, Any]] = {  # a row's name, and its training settings
    "ours, as a run chooses": {},
    "ours, float32, sdpa": {"precision": "float32", "attention": "sdpa"},
    "ours, bfloat16": {"precision": "bfloat16"},
}
PRODUCTS = {"float32": "matrix multiply, float32", "bfloat16": "matrix multiply, bfloat16"}
PRODUCT_SIZE = {"cpu": 2048, "cuda": 8192}
FILE_TOKENS = 1_000_000


def bench_train(
    shape: str,
    rounds: int,
    stop: StopToken,
    busy: int = 0,
    profile: bool = False,
    device: str = "auto",
) -> Task[list[BenchMeasured]]:
    """Time training steps: ours with each of their settings, and the peers'.

    Args:
        busy: Beside how many busy processes each subject is timed once more in every round; 0 for not at all.
        profile: Also say which part of a step takes how much of its time.

        device: Where everybody computes: "cpu", "cuda", or the better one of what there is. A GPU's times are not
            profiled.

    Raises:
        BadSettingError: There is no such shape, or no device of that name.
        DeviceMissingError: This machine has no such device.
        MissingPeerError: transformers is not installed.
        SubjectEndedError: One of the processes ran out of memory.
    """
    model, vocab_size, batch_size, steps = shape_of(shape)
    on = bench_device(device)
    if stop.asked:
        return []
    with ExitStack() as stack:
        tokens = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) / "tokens.bin"
        write_tokens(tokens, vocab_size)
        formats = _formats(on)
        if "bfloat16" not in formats:
            yield Notice(NO_BFLOAT16)
        trainers = _start_trainers(stack, (model, vocab_size, batch_size, steps), tokens, formats, on, stop)
        if stop.asked:
            return []
        subjects: dict[str, Subject] = dict(trainers)
        if busy:
            flag = stack.enter_context(busy_processes(busy))
            subjects = _with_busy_turns(trainers, busy, flag)
        for precision in formats:
            name = PRODUCTS[precision]
            subjects[name] = stack.enter_context(
                peer_process("steps:MatrixProducts", precision, PRODUCT_SIZE[on], on)
            )
        rates = run_rounds(subjects, rounds, stop)
        if rates is None:
            return []
        rows = measured_rows("train", shape, UNIT, {name: rates[name] for name in trainers})
        yield from rows
        yield from _compared(shape, rates, list(trainers), busy)
        yield from _facts(shape, rates, trainers, model_flops_per_token(model, vocab_size), on)
        if profile and on == "cpu":
            yield from _profiles(shape, trainers)
        return rows


def _formats(device: str) -> list[str]:
    """What this device multiplies in. Others are emulated, and one step would take longer than all rounds."""
    import torch

    from core.training.compute import computes_bfloat16
    from core.training.precision import gpu_format

    on_gpu = gpu_format(torch.device(device)) == "bfloat16"
    return ["float32", "bfloat16"] if on_gpu or (device == "cpu" and computes_bfloat16()) else ["float32"]


def _start_trainers(
    stack: ExitStack,
    shape: tuple[ModelConfig, int, int, int],
    tokens: Path,
    formats: list[str],
    device: str,
    stop: StopToken,
) -> dict[str, SubjectProcess]:
    """A process for each row, the peers' first; no further ones once `stop` was set."""
    trainers = {PEER_TRAIN: stack.enter_context(peer_process("steps:TransformersSteps", *shape, device))}
    for precision in formats:
        if stop.asked:
            return trainers
        name, is_bfloat16 = NANOGPT[precision], precision == "bfloat16"
        trainers[name] = stack.enter_context(
            peer_process("steps:NanoGPTSteps", *shape, tokens, is_bfloat16, device)
        )
    for name, settings in OURS.items():
        if stop.asked or settings.get("precision", "float32") not in formats:
            continue
        trainers[name] = stack.enter_context(
            our_process("steps:OurSteps", *shape, tokens, settings | {"device": device})
        )
    return trainers


def write_tokens(path: Path, vocab_size: int) -> None:
    """A file of random tokens to train on."""
    with TokenFileWriter(path, "uint16") as file:
        file.append(np.random.default_rng(1).integers(vocab_size, size=FILE_TOKENS))


def _busy_name(name: str, busy: int) -> str:
    return f"{name}, beside {busy} busy"


def _with_busy_turns(trainers: dict[str, SubjectProcess], busy: int, flag: Flag) -> dict[str, Subject]:
    """Each one's quiet and busy turn, one after the other: the machine may change within a round."""
    subjects: dict[str, Subject] = {}
    for name, work in trainers.items():
        subjects |= {name: work, _busy_name(name, busy): beside(flag, work)}
    return subjects


def _compared(shape: str, rates: Rates, trainers: list[str], busy: int) -> Iterator[Event]:
    """Every row beside nanoGPT's, and a step's time beside busy processes."""
    rounds = len(rates[PEER_TRAIN])
    better = max(
        (name for name in NANOGPT.values() if name in rates), key=lambda name: statistics.median(rates[name])
    )
    for other in dict.fromkeys((NANOGPT["float32"], better)):
        for name in (name for name in OURS if name in rates):
            yield BenchCompared(
                "train", shape, name, f"to {other}", *ratio_of(rates[name], rates[other]), rounds
            )
    for name in trainers if busy else ():
        slowdown = ratio_of(rates[name], rates[_busy_name(name, busy)])
        yield BenchCompared("train", shape, f"{name}: step time", f"beside {busy} busy", *slowdown, rounds)


def _facts(
    shape: str, rates: Rates, trainers: dict[str, SubjectProcess], flops_per_token: int, device: str
) -> Iterator[Event]:
    """The highest rate in each number format, each row's share of its own format's, and the memory it took."""
    peaks = {precision: max(rates[name]) for precision, name in PRODUCTS.items() if name in rates}
    for precision, peak in peaks.items():
        yield BenchFact(
            "train", shape, f"{PRODUCTS[precision]}, {PRODUCT_SIZE[device]:,}", 1000 * peak, "GFLOP/s at most"
        )
    for name in (name for name in OURS if name in trainers):
        yield Notice(f"{name}: {trainers[name].ask('plan')}")
    for name, process in trainers.items():
        reached = statistics.median(rates[name]) * flops_per_token / 1e12
        if most := peaks.get(process.ask("precision")):
            yield BenchFact("train", shape, f"{name}: share of peak", 100 * reached / most, "%")
    for name, process in trainers.items():
        yield BenchFact("train", shape, f"{name}: memory", process.peak_mib(), "MiB at most")
        if device == "cuda":
            yield BenchFact("train", shape, f"{name}: GPU memory", process.ask("device_mib"), "MiB at most")


def _profiles(shape: str, trainers: dict[str, SubjectProcess]) -> Iterator[Event]:
    for name in (name for name in trainers if name != PEER_TRAIN):
        for part, share in trainers[name].ask("shares").items():
            yield BenchFact("profile", shape, f"{name}: {part}", 100 * share, "% of a step")
