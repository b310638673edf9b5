"""The commands that try the machine and the program: benchmarks, and the fuzzers."""

from pathlib import Path
from typing import Annotated

import typer

from core.commands.arguments import named_path
from core.commands.place import perform

app = typer.Typer(help="Benchmark this machine against a reference, in interleaved rounds.")
fuzz_app = typer.Typer()

Rounds = Annotated[int, typer.Option(min=1, help="Interleaved rounds; medians are reported.")]
Shape = Annotated[str, typer.Option(help="The model size: S, M, L or gpt2.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


@app.command(name="train")
def train(
    context: typer.Context,
    shape: Shape = "L",
    rounds: Rounds = 5,
    busy: Annotated[
        int,
        typer.Option(
            min=0, help="Also time each step beside this many processes that each keep a core busy."
        ),
    ] = 0,
    profile: Annotated[bool, typer.Option("--profile", help="Also show how a step's time is spent.")] = False,
    device: Device = "auto",
) -> int:
    """Training speed, against a plain float32 loop with transformers and against nanoGPT's recipe."""
    from core.bench.train import bench_train

    return perform(context, lambda stop: bench_train(shape, rounds, stop, busy, profile, device))[1]


@app.command(name="generate")
def generate(context: typer.Context, shape: Shape = "M", rounds: Rounds = 5, device: Device = "auto") -> int:
    """Decoding speed with a KV cache, against transformers' generate on the same weights."""
    from core.bench.generate import bench_generate

    return perform(context, lambda stop: bench_generate(shape, rounds, stop, device))[1]


@app.command(name="serve")
def serve(context: typer.Context, shape: Shape = "M", rounds: Rounds = 5) -> int:
    """Tokens per second of 2, 4 and 8 concurrent clients, against one."""
    from core.bench.serve import bench_serve

    return perform(context, lambda stop: bench_serve(shape, rounds, stop))[1]


@app.command(name="learn")
def learn(
    context: typer.Context,
    text: Annotated[
        Path | None,
        typer.Option(
            help="A UTF-8 text file; by default the sample corpus.", parser=named_path, metavar="FILE"
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="The folder for the plot.", parser=named_path, metavar="DIR"),
    ] = Path(),
    preset: Annotated[str, typer.Option(help="The preset of our model.")] = "tiny",
    tokenizer: Annotated[
        str, typer.Option(help="Our tokenizer: bpe or char; by default the preset's.", metavar="KIND")
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="The seed of both models.")] = 1,
    minutes: Annotated[
        float, typer.Option(min=0, help="Time limit of the whole benchmark, in minutes.")
    ] = 60,
) -> int:
    """Loss over time on one text: ours and nanoGPT's published recipe for a CPU, in turns."""
    from core.bench.learn import bench_learn
    from core.config.presets import preset_run
    from core.config.toml import with_settings

    kind = {"tokenizer.kind": tokenizer} if tokenizer else {}
    config = with_settings(preset_run(preset), {"training.seed": seed, **kind})
    return perform(context, lambda stop: bench_learn(text, out, config, minutes, stop))[1]


@app.command(name="seen")
def seen(
    context: typer.Context,
    megabytes: Annotated[int, typer.Option(min=1, max=10_000, help="Size of the text.")] = 100,
) -> int:
    """The index of a training text: time, memory and size, and the speed of look-ups."""
    from core.bench.seen import bench_seen

    return perform(context, lambda stop: bench_seen(megabytes, stop))[1]


@app.command(name="gpu")
def gpu(
    context: typer.Context,
    minutes: Annotated[float, typer.Option(min=0.01, help="How long it may take.")] = 8.0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for gpu.jsonl, with each result on a line as it comes.",
            parser=named_path,
            metavar="DIR",
        ),
    ] = None,
    device: Device = "auto",
) -> int:
    """All that a GPU must show: first whether it computes what the processor does, then how fast, beside the peers."""
    from core.bench.gpu import bench_gpu

    holds, code = perform(context, lambda stop: bench_gpu(minutes, out, device, stop), writes=False)
    return code or (0 if holds else 1)


@app.command(name="import")
def import_command(
    context: typer.Context,
    part: Annotated[str, typer.Option(help="pdf, ocr, text, tokens, large or all.")] = "all",
    rounds: Rounds = 3,
) -> int:
    """Speed of reading and tokenizing generated files, against simple programs."""
    from core.bench.importing import bench_import

    return perform(context, lambda stop: bench_import(part, rounds, stop))[1]


@fuzz_app.command(name="fuzz-import")
def fuzz_import_command(
    context: typer.Context,
    seconds: Annotated[float, typer.Option(min=1, help="How long to run, in seconds.")] = 60,
    seed: Annotated[int, typer.Option(help="The same seed damages the same files in the same way.")] = 1,
    kept: Annotated[
        Path,
        typer.Option(help="The folder for files that crashed a reader.", parser=named_path, metavar="DIR"),
    ] = Path("fuzz"),
) -> int:
    """Fuzz the import: each damaged file must end in a state, within its limits."""
    from core.bench.fuzz_import import fuzz_import

    return perform(context, lambda stop: fuzz_import(seconds, seed, kept, stop))[1]


@fuzz_app.command(name="fuzz-workspace")
def fuzz_workspace_command(
    context: typer.Context,
    seconds: Annotated[float, typer.Option(min=1, help="How long to run, in seconds.")] = 60,
    seed: Annotated[int, typer.Option(help="The same seed damages the same files.")] = 1,
    first: Annotated[int, typer.Option(min=0, help="The number of the first case, to repeat one.")] = 0,
    kept: Annotated[
        Path,
        typer.Option(
            help="The folder for damaged files that led to a finding.", parser=named_path, metavar="DIR"
        ),
    ] = Path("fuzz"),
) -> int:
    """Fuzz a workspace: with one file damaged, each command must give the same result or a clear error."""
    from core.bench.fuzz_workspace import fuzz_workspace

    return perform(context, lambda stop: fuzz_workspace(seconds, seed, first, kept, stop))[1]
