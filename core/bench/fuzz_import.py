"""Imports files that were damaged on purpose, and checks that each comes to an end within its limits."""

import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from core.bench.damage import Damage, cut_off, flip_bits, put_random_bytes, some_bytes
from core.config.corpus import ImportConfig
from core.control import StopToken
from core.errors.bench import FuzzFailedError
from core.events.base import Task
from core.events.bench import FuzzChecked
from core.events.document_state import UNFINISHED, DocumentState
from core.events.documents import FileImported
from core.runs.folder import Workspace
from core.tasks.corpus.import_files import import_files

BATCH = 100  # files in one import
LIMITS = ImportConfig(file_seconds=20, page_seconds=20, memory_mib=512, file_mib=64, archive_mib=64)
SLACK_SECONDS = 10.0  # beyond a file's own limits: for a reader to be ended, and for a busy machine
STATES = set(DocumentState) - UNFINISHED - {DocumentState.CANCELLED}
BROKEN = ("Its reader", "It took longer", "It needs more memory")  # reasons that are worth a look
PAGES = 4  # the most that OCR may have to read of one file here
MOST_REASONS = 30


def fuzz_import(seconds: float, seed: int, kept: Path, stop: StopToken) -> Task[FuzzChecked]:
    """Damage valid files and import them, a hundred at a time, until the time is over.

    Args:
        seconds: How long; the batch in hand is finished, and the first one always comes.
        seed: The same seed damages the same files in the same way.
        kept: A folder for copies of files that crashed their reader or ran into its limits.

    Returns:
        The counts of all batches; they come after each batch as well.

    Raises:
        FuzzFailedError: A file did not come to exactly one end, or not within its limits.
    """
    from core.bench.seed_files import seed_files

    rng, seeds = random.Random(seed), list(seed_files())
    started = time.monotonic()
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    broken: list[str] = []
    total = FuzzChecked(0, 0.0, (), (), ())
    while (not total.files or time.monotonic() - started < seconds) and not stop.asked:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            files = _write_batch(Path(folder) / "files", seeds, rng, total.files)
            for event in _import(files, Workspace(Path(folder) / "workspace"), kept, stop):
                states[event.state] += 1
                reasons[event.reason] += 1
                if event.reason.startswith(BROKEN):
                    broken.append(str(_keep(event.path, kept)))
        total = FuzzChecked(
            files=total.files + len(files),
            seconds=time.monotonic() - started,
            states=tuple(states.most_common()),
            reasons=tuple(reasons.most_common(MOST_REASONS)),
            broken=tuple(broken),
        )
        yield total
    return total


def _write_batch(folder: Path, seeds: list[tuple[str, bytes]], rng: random.Random, first: int) -> list[Path]:
    folder.mkdir()
    paths = []
    for number in range(first, first + BATCH):
        name, content = rng.choice(seeds)
        path = folder / f"{number:07}-{name}"
        path.write_bytes(damaged(content, rng, [other for _, other in seeds]))
        paths.append(path)
    return paths


def _import(files: list[Path], workspace: Workspace, kept: Path, stop: StopToken) -> list[FileImported]:
    """How each file ended; checked.

    Raises:
        FuzzFailedError: One did not as it should; it is in the folder `kept`.
    """
    ended = [
        event for event in import_files(files, LIMITS, workspace, stop) if isinstance(event, FileImported)
    ]
    if stop.asked:
        return []
    counts = Counter(event.path for event in ended)
    for path in map(str, files):
        if counts[path] != 1:
            raise FuzzFailedError(_keep(path, kept), f"it came to {counts[path]} ends")
    longest = LIMITS.file_seconds + PAGES * LIMITS.page_seconds + SLACK_SECONDS
    for event in ended:
        if event.state not in STATES or event.seconds > longest:
            sentence = f"it ended as {event.state} after {event.seconds:.0f} s"
            raise FuzzFailedError(_keep(event.path, kept), sentence)
    return ended


def _keep(path: str, kept: Path) -> Path:
    kept.mkdir(parents=True, exist_ok=True)
    source = Path(path)
    if not source.is_file():  # inside an archive: the archive is what can be tried again
        source = next(parent for parent in source.parents if parent.is_file())
    return Path(shutil.copy(source, kept / source.name))


# The ways to damage a file


def damaged(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """`content` with one to four kinds of damage, one after the other."""
    for _ in range(rng.randint(1, 4)):
        content = rng.choice(DAMAGES)(content, rng)
    if rng.random() < 0.05:
        other = rng.choice(others)
        content = content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other)) :]
    return content


def _drop_block(content: bytes, rng: random.Random) -> bytes:
    start, end = some_bytes(content, rng)
    return content[:start] + content[end:]


def _repeat_block(content: bytes, rng: random.Random) -> bytes:
    start, end = some_bytes(content, rng)
    return content[:end] + content[start:end] * rng.randint(1, 50) + content[end:]


def _put_extreme_number(content: bytes, rng: random.Random) -> bytes:
    """In place of some bytes, a number that a size or an offset should not be."""
    number = rng.choice(
        (b"\x00" * 4, b"\xff" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"99999999", b"-1")
    )
    start = rng.randrange(len(content) + 1)
    return content[:start] + number + content[start + len(number) :]


DAMAGES: tuple[Damage, ...] = (
    flip_bits,
    cut_off,
    _drop_block,
    _repeat_block,
    put_random_bytes,
    _put_extreme_number,
)
