"""How fast files become text: ours beside plain programs on the same files."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.bench.rounds import Subject, interleave
from core.bench.tokens import bench_tokens
from core.config.corpus import ImportConfig
from core.control import StopToken
from core.errors.base import BadSettingError
from core.events.base import Task
from core.events.bench import BenchMeasured
from core.events.document_state import DocumentState
from core.events.documents import FileImported, TextIndexed
from core.runs.folder import Workspace
from core.tasks.corpus.import_files import import_files

MEGABYTE = 10**6
PDF_FILES, PDF_PAGES = 24, 25
SCANS = 16
TEXT_FILES, TEXT_BYTES = 2_000, 50_000

PARTS = ("pdf", "ocr", "text", "tokens")


def bench_import(part: str, rounds: int, stop: StopToken) -> Task[list[BenchMeasured]]:
    """Measure one part of the way from files to tokens, on files that it makes itself.

    Args:
        part: "pdf", "ocr", "text", "tokens", or "all".

    Raises:
        BadSettingError: There is no such part.
    """
    if part not in (*PARTS, "all"):
        raise BadSettingError("--part", f"cannot be {part!r}: it is all or one of {', '.join(PARTS)}")
    results: list[BenchMeasured] = []
    for name in PARTS if part == "all" else (part,):
        if stop.asked:
            break
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            results += yield from _bench(name, Path(folder), rounds, stop)
    return results


def _bench(part: str, folder: Path, rounds: int, stop: StopToken) -> Task[list[BenchMeasured]]:
    from core.bench.made_files import write_pdfs, write_scans, write_texts

    files = folder / "files"
    match part:
        case "pdf":
            pages = write_pdfs(files, PDF_FILES, PDF_PAGES)
            subjects = {"one process with pypdf": _with_pypdf(files, pages), "ours": _ours(files, pages)}
            return (yield from interleave("pdf", f"{pages} pages", "pages/s", subjects, rounds, stop))
        case "ocr":
            pages = write_scans(files, SCANS)
            subjects = {"one Tesseract process": _with_tesseract(files, pages), "ours": _ours(files, pages)}
            return (yield from interleave("ocr", f"{pages} scans", "pages/s", subjects, rounds, stop))
        case "text":
            size = write_texts(files, TEXT_FILES, TEXT_BYTES) / MEGABYTE
            subjects = {
                "reading and decoding alone": _with_python(files, size),
                "ours, into the library": _ours(files, size, is_whole=False),
                "ours, searchable and compared": _ours(files, size),
            }
            return (yield from interleave("text", f"{size:.0f} MB", "MB/s", subjects, rounds, stop))
        case _:
            return (yield from bench_tokens(rounds, stop))


def _ours(files: Path, amount: float, is_whole: bool = True) -> Subject:
    """An import into a new library.

    Args:
        is_whole: With the search index and the comparison of all documents; else up to the last file.
    """

    def work() -> float:
        with _new_workspace() as workspace:
            for event in import_files([files], ImportConfig(), workspace, StopToken()):
                assert not (isinstance(event, FileImported) and event.state == DocumentState.FAILED), event
                if isinstance(event, TextIndexed) and not is_whole:
                    break
        return amount

    return work


@contextmanager
def _new_workspace() -> Iterator[Workspace]:
    root = Path(tempfile.mkdtemp(prefix="bench-library-"))
    try:
        yield Workspace(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _with_pypdf(files: Path, pages: int) -> Subject:
    from pypdf import PdfReader

    def work() -> float:
        for path in sorted(files.iterdir()):
            for page in PdfReader(path).pages:
                page.extract_text()
        return pages

    return work


def _with_tesseract(files: Path, pages: int) -> Subject:
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}  # one process on one core

    def work() -> float:
        for path in sorted(files.iterdir()):
            subprocess.run(["tesseract", str(path), "-"], env=environment, capture_output=True, check=True)
        return pages

    return work


def _with_python(files: Path, megabytes: float) -> Subject:
    def work() -> float:
        for path in files.rglob("*.*"):
            path.read_text(encoding="utf-8")
        return megabytes

    return work
