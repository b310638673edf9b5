"""What a test of something new runs in a process of its own: the program with one file and one line in a list more."""

import importlib.util
import sys
from pathlib import Path


def add_folder(package: str, folder: str) -> None:
    """Let the files of a folder stand in a package, as if they had been written there."""
    importlib.import_module(package)
    sys.modules[package].__path__.append(folder)


def add_lines(module: str, lines: dict[str, str]) -> None:
    """Load a module with some lines more, each behind a text that stands in it once; before anything else loads it."""
    assert module not in sys.modules
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8")
    for after, line in lines.items():
        assert source.count(after) == 1, after
        source = source.replace(after, f"{after}{line}\n")
    made = importlib.util.module_from_spec(spec)
    sys.modules[module] = made
    exec(compile(source, spec.origin, "exec"), vars(made))
    package, _, name = module.rpartition(".")
    setattr(sys.modules[package], name, made)


def no_window(_: object) -> int:
    """For `cli.run`."""
    raise AssertionError("a window")
