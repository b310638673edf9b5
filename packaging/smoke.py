"""Use the frozen program as somebody would who has nothing else: no Python, none of our source, an empty home.

    python packaging/smoke.py [PROGRAM]

Prints a line for each check, with its seconds; under one that fails, the command and what it said. Exits with 1 where
one failed. Freezing misses without a word what is imported by name or read from a library's files: only use shows it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from PIL import Image, ImageDraw, ImageFont

BUILT = Path(__file__).resolve().parent.parent / "dist" / "sheepop-studio" / "sheepop-studio"
LONGEST_SECONDS, POLL_SECONDS = 600, 0.1
STOPPED = 130  # the exit code of a command that SIGTERM ended
TRACEBACK = "Traceback (most recent call last)"
SETTINGS = ("training.max_steps=20", "training.eval_interval=10", "tokenizer.vocab_size=400")
SENTENCE = "Seventeen herons waited quietly beside the frozen river"
# stands before the system's Tesseract, which must not be made to load the frozen program's libraries
TESSERACT = '#!/bin/sh\n[ -z "$LD_LIBRARY_PATH" ] && exec "%s" "$@"\n'

Found = TypeVar("Found")


class CheckFailedError(Exception):
    """The program did not do what it should."""


def expect(is_so: object, otherwise: str) -> None:
    """Fail the check, unless it is so."""
    if not is_so:
        raise CheckFailedError(otherwise)


class Program:
    """The frozen program, with a folder for its home, its workspace and all that it writes."""

    def __init__(self, executable: Path, folder: Path) -> None:
        self.executable, self.folder, self.command = executable, folder, ""
        self.home, self.workspace, self._output = (folder / name for name in ("home", "workspace", "output"))
        self.home.mkdir()
        (folder / "tesseract").write_text(TESSERACT % shutil.which("tesseract"))
        (folder / "tesseract").chmod(0o755)

    @property
    def said(self) -> str:
        """What the last command has printed so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def run(self, *arguments: object, says: str) -> None:
        """Run a command that must end well and print this."""
        with self._started(arguments) as process:
            code = process.wait(LONGEST_SECONDS)
        expect(code == 0, f"exit code {code}")
        expect(says in self.said, f"it does not say {says!r}")

    @contextmanager
    def running(
        self, *arguments: object, look: Callable[[], Found | None], ends_with: int
    ) -> Iterator[Found]:
        """A command that stays, from when `look` has found what shows that it is up. SIGTERM ends it."""
        with self._started(arguments) as process:
            latest = time.monotonic() + LONGEST_SECONDS
            while not (found := look()):
                expect(process.poll() is None, f"it ended by itself, with exit code {process.returncode}")
                expect(time.monotonic() < latest, f"it was not up after {LONGEST_SECONDS} s")
                time.sleep(POLL_SECONDS)
            yield found
            process.terminate()
            code = process.wait(LONGEST_SECONDS)
        expect(code == ends_with, f"SIGTERM ended it with exit code {code}")

    @contextmanager
    def _started(self, arguments: Sequence[object]) -> "Iterator[subprocess.Popen[bytes]]":
        command = [str(part) for part in (self.executable, "--workspace", self.workspace, *arguments)]
        path = os.pathsep.join((str(self.folder), os.defpath))
        environment = {
            "HOME": str(self.home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "QT_QPA_PLATFORM": "offscreen",
        }
        self.command = " ".join(command)
        with self._output.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder, env=environment
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
        expect(TRACEBACK not in self.said, "it printed a traceback")


def sample_corpus(program: Program) -> None:
    program.run("sample", says="0 not supported, 0 failed")


def training(program: Program) -> None:
    settings = (word for setting in SETTINGS for word in ("--set", setting))
    program.run(
        "train", "--preset", "tiny", "--name", "first", *settings, says="Run 'first' finished at step 20"
    )


def generated_text(program: Program) -> None:
    program.run("generate", "first", "--prompt", "Arrin lives", "--complete", says="tokens/s")


def report_with_charts(program: Program) -> None:
    page = program.folder / "report.html"
    program.run("report", "first", "--out", page, says=page.name)
    charts = re.findall("<svg.*?</svg>", page.read_text(encoding="utf-8"), re.DOTALL)
    drawn = [chart for chart in charts if ElementTree.fromstring(chart).find(".//*[@d]") is not None]
    expect(drawn and drawn == charts, "the report has no chart, or an empty one")


def view_as_svg(program: Program) -> None:
    picture = program.folder / "attention.svg"
    program.run("inspect", "first", "--text", "Arrin", "--view", "attention", "--out", picture, says="Saved")
    expect(ElementTree.parse(picture).getroot().tag.endswith("svg"), "the picture is no SVG")


def view_as_png(program: Program) -> None:
    picture = program.folder / "attention.png"
    program.run("inspect", "first", "--text", "Arrin", "--view", "attention", "--out", picture, says="Saved")
    with Image.open(picture, formats=["PNG"]) as image:
        expect(len(image.convert("L").getcolors()) > 1, "the picture is empty")


def score(program: Program) -> None:
    text = program.folder / "text.txt"
    text.write_text(SENTENCE, encoding="utf-8")
    program.run("score", "first", "--text", text, says="bits/byte")


def seen(program: Program) -> None:
    almanac = (program.workspace / "sample" / "almanac.md").read_text(encoding="utf-8")
    program.run("seen", "first", almanac.split("\n\n")[3], says="almanac.md")


def scan(program: Program) -> None:
    picture = Image.new("L", (1600, 200), "white")
    ImageDraw.Draw(picture).text((40, 60), SENTENCE, font=ImageFont.load_default(48))
    picture.save(program.folder / "scan.png")
    program.run("import", program.folder / "scan.png", says="1 read")
    program.run("search", "herons", says=SENTENCE)


def server(program: Program) -> None:
    def address() -> re.Match[str] | None:
        return re.search(r"http://[\w.:]+/v1", program.said)

    with program.running("serve", "first", "--port", 0, look=address, ends_with=STOPPED) as found:
        body = json.dumps({"model": "first", "prompt": "Arrin", "max_tokens": 4}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{found[0]}/completions", body, headers)
        directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with directly.open(request, timeout=LONGEST_SECONDS) as answer:
            expect(json.load(answer).get("choices"), "the server's answer has no text")


def window(program: Program) -> None:
    def made() -> list[Path]:
        return list(program.home.rglob("personal.ini"))  # names the workspace as soon as its window is made

    with program.running(look=made, ends_with=0):
        pass
    log = program.workspace / "studio.log"
    expect((program.workspace / "window.ini").exists(), "closing the window did not keep its place")
    expect(not log.exists() or TRACEBACK not in log.read_text(encoding="utf-8"), f"{log} has a traceback")


CHECKS = [sample_corpus, training, generated_text, report_with_charts, view_as_svg, view_as_png]
CHECKS += [score, seen, scan, server, window]


def passes(check: Callable[[Program], None], program: Program) -> bool:
    """Make a check, and print how it went."""
    name, began = check.__name__.replace("_", " "), time.monotonic()
    try:
        check(program)
    except (CheckFailedError, OSError, ValueError, SyntaxError, subprocess.TimeoutExpired) as error:
        print(f"FAILED    {name}: {error}\n{program.command}\n{textwrap.indent(program.said, '    ')}")
        return False
    print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)
    return True


def main(arguments: Sequence[str]) -> int:
    """Make all checks, and give the exit code."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="smoke-") as folder:
        program = Program(Path(*arguments).resolve() if arguments else BUILT, Path(folder))
        passed = [passes(check, program) for check in CHECKS]
    print(f"{time.monotonic() - began:6.1f} s  {sum(passed)} of {len(passed)} checks passed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
