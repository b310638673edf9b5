"""How much do the tests hold? Change the program in one place at a time, and see whether the tests of that room fail.

    python tests/mutants.py --out before.jsonl                      100 places drawn with seed 1
    python tests/mutants.py --again before.jsonl --out after.jsonl  the same places, in today's tree

A mutant is a copy of the program with one expression or statement of `core` or `app` changed. A place keeps its name while
other lines change, so the same seed draws the same places before and after a change of the tests. Each mutant meets the
tests of its room, those of its own file first, and the first failure ends it.
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ("app", "core")
COPIED = (*PROGRAM, "main.py", "packaging", "pyproject.toml", "README.md", "resources", "tests")
TOO_LONG_SECONDS = 1800  # for all tests of a room; each has a limit of its own

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
# What only looks or only reads well has no law that a test could hold.
LOOKS = {"setSpacing", "setContentsMargins", "addSpacing", "setMargin", "addStretch", "setAlignment"}
LOGS = {"log"}


@dataclass(frozen=True)
class Mutant:
    """One place of the program, and what stands there instead.

    Attributes:
        start, end: Where the text that is replaced begins and ends: offsets in the file's bytes.
        name: The same for the same place, whatever other lines of the file become.
    """

    path: str
    line: int
    start: int
    end: int
    kind: str
    old: str
    new: str
    name: str

    @property
    def room(self) -> str:
        """Its room: a folder of `core`, `app` or `app/tabs`, or what stands loose in one."""
        folders = Path(self.path).parts[:-1]
        return "/".join(folders[: 3 if folders[:2] == ("app", "tabs") else 2])

    def mutated(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants_of(path: str) -> Iterator[Mutant]:
    """Every change of a file that this script knows, from its top to its end."""
    source = (ROOT / path).read_bytes()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    seen: Counter[str] = Counter()
    for scope, node, kind, new in _changes(ast.parse(source), ""):
        assert isinstance(node, ast.expr | ast.stmt) and node.end_lineno and node.end_col_offset is not None
        start, end = (
            lines[node.lineno - 1] + node.col_offset,
            lines[node.end_lineno - 1] + node.end_col_offset,
        )
        old = source[start:end].decode()
        place = f"{path}:{scope}:{kind}:{' '.join(old.split())}"
        seen[place] += 1
        yield Mutant(path, node.lineno, start, end, kind, old, new, f"{place}:{seen[place]}")


def _changes(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST, str, str]]:
    """(function, node, kind of change, text instead), for a node and all below it that a test could hold."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            inner = f"{scope}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            for changed, kind, text in _changes_of(child):
                yield inner, changed, kind, text
            yield from _changes(child, inner)


def _changes_of(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield node, "comparison", _with(node, lambda n: n.ops.__setitem__(0, COMPARISONS[type(op)]()))
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_text(node):
            yield node, "arithmetic", _with(node, lambda n: setattr(n, "op", ARITHMETIC[type(op)]()))
        case ast.BoolOp(op=op):
            other = ast.Or if isinstance(op, ast.And) else ast.And
            yield node, "and/or", _with(node, lambda n: setattr(n, "op", other()))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "not", f"({ast.unparse(operand)})"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, "condition", f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool(value)):
            yield node, "true/false", str(not value)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield value, "returned value", "None"
        case ast.Expr(value=ast.Call(func=function)) if not _only_shows(function):
            yield node, "removed call", "pass"


def _with(node: Any, change: Callable[[Any], None]) -> str:
    made = copy.deepcopy(node)
    change(made)
    return f"({ast.unparse(made)})"


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _only_shows(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and (
        function.attr in LOOKS or (isinstance(function.value, ast.Name) and function.value.id in LOGS)
    )


def drawn(seed: int, count: int) -> list[Mutant]:
    """`count` mutants of all: those whose names, hashed with the seed, come first."""
    files = (str(file.relative_to(ROOT)) for top in PROGRAM for file in sorted((ROOT / top).rglob("*.py")))
    every = [mutant for file in files for mutant in mutants_of(file)]
    every.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    return every[:count]


def tests_of(mutant: Mutant, first: str) -> list[str]:
    """What pytest is given: the test that killed it before, the tests named after its file, those of its room."""
    room = ROOT / "tests" / mutant.room
    own = sorted(room.rglob(f"test_{Path(mutant.path).stem}*.py"))
    has_rooms_below = mutant.room in (*PROGRAM, "app/tabs")
    rest = sorted(room.glob("test_*.py")) if has_rooms_below else [room]
    return [*([first] if first else []), *(str(path.relative_to(ROOT)) for path in (*own, *rest))]


def meet(mutant: Mutant, place: Path, python: str, first: str, slow: bool) -> str:
    """Run its tests in the copy of the program at `place`. Gives the test that failed, or nothing."""
    file = place / mutant.path
    whole = file.read_bytes()
    file.write_bytes(mutant.mutated(whole))
    asked = [*(python, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")]
    asked += ["--no-header", "--tb=no", "-rfE"]
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "TMPDIR": str(place.parent),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    try:
        for chosen in ("not slow", "slow")[: 2 if slow else 1]:
            command = [*asked, "-m", chosen, *tests_of(mutant, first)]
            ran = subprocess.run(
                command,
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TOO_LONG_SECONDS,
                check=False,
            )
            if ran.returncode not in (0, 5):  # 5: no test was chosen
                lines = (line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))
                return next(lines, f"pytest exit {ran.returncode}")
    except subprocess.TimeoutExpired:
        return "all its tests took too long"
    finally:
        file.write_bytes(whole)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--again", type=Path, help="the places of an earlier result, as far as they stand")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), help="one line per mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument(
        "--slow", action="store_true", help="whom the quick tests let live meets the slow ones too"
    )
    parser.add_argument("--list", action="store_true", help="print the places, and run nothing")
    given = parser.parse_args()
    earlier = (
        {row["name"]: row for row in map(json.loads, given.again.read_text().splitlines())}
        if given.again
        else {}
    )
    chosen = drawn(given.seed, given.count)
    if earlier:
        chosen = [mutant for mutant in drawn(given.seed, sys.maxsize) if mutant.name in earlier]
    done = (
        {json.loads(line)["name"] for line in given.out.read_text().splitlines()}
        if given.out.exists()
        else set()
    )
    if given.list:
        for mutant in chosen:
            print(f"{mutant.path}:{mutant.line}  {mutant.kind}:  {mutant.old}  ->  {mutant.new}")
        return
    with tempfile.TemporaryDirectory() as folder:
        places: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.jobs):
            places.put(_copied(Path(folder) / str(number) / "program"))

        def run(mutant: Mutant) -> None:
            place, started = places.get(), time.perf_counter()
            killer = earlier.get(mutant.name, {}).get("killed_by", "")
            first = killer.split(" ")[1].split("::")[0] if killer.startswith(("FAILED ", "ERROR ")) else ""
            by = meet(mutant, place, given.python, first if (ROOT / first).is_file() else "", given.slow)
            places.put(place)
            row = {**mutant.__dict__, "room": mutant.room, "killed_by": by}
            row["seconds"] = round(time.perf_counter() - started, 1)
            with given.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            print(f"{mutant.path}:{mutant.line} {mutant.kind}: {by or 'SURVIVED'}", flush=True)

        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(run, (mutant for mutant in chosen if mutant.name not in done)))
    report([json.loads(line) for line in given.out.read_text().splitlines()])


def _copied(place: Path) -> Path:
    """A copy of the program that a mutant may stand in."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place / name)
    return place


def report(rows: list[dict[str, Any]]) -> None:
    rooms: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        rooms[row["room"]].append(bool(row["killed_by"]))
    for room, killed in [*sorted(rooms.items()), ("all", [bool(row["killed_by"]) for row in rows])]:
        print(f"{room:24} {sum(killed):3} of {len(killed):3} killed, {sum(killed) / len(killed):.0%}")


if __name__ == "__main__":
    main()
