"""How long the index over a training text takes to build, what it takes, and how fast replies are looked up in it.

The text is that of Python's library and of the packages beside it. Where that is too little, it comes again with its lines in
another order, so that whole passages still occur more than once, as in many collections.
"""

import random
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.batches.dataset import Dataset
from core.batches.token_file import TokenFileWriter, token_dtype
from core.control import StopToken
from core.errors.bench import SourcesMissingError
from core.events.base import Task
from core.events.bench import BenchFact, BenchMeasured
from core.seen.index import FOLDER, SeenIndex, build_index
from core.system.memory import peak_rss_mib
from core.system.one_call import call_in_process
from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.char import CharTokenizer
from core.tokenizers.encoding import encode_passages
from core.tokenizers.files import load_tokenizer, save_tokenizer
from core.tokenizers.tokenizer import Tokenizer

MEGABYTE = 10**6
LEARNED_FROM_MEGABYTES = 8
VOCAB_SIZE = 8_192
LOOK_UPS = 200
REPLY_CHARACTERS = 1_600  # some 400 tokens of BPE
PIECES = 8  # of the training text in each reply, between words of other places
ENDINGS = {".py", ".txt", ".md", ".rst", ".pyi", ".html", ".json", ".h"}


def bench_seen(megabytes: int, stop: StopToken) -> Task[list[BenchMeasured]]:
    """Build the index for characters and for BPE, each in a process of its own, then look replies up."""
    for kind in ("char", "bpe"):
        with tempfile.TemporaryDirectory() as folder:
            place, size = Path(folder) / "dataset", megabytes * MEGABYTE
            dataset = call_in_process(write_dataset, place, kind, size, stop=stop)
            figures = None if dataset is None else call_in_process(measure, dataset, stop=stop)
        if figures is None:
            return []
        for subject, value, unit in figures:
            yield BenchFact("seen", f"{kind} {megabytes} MB", subject, value, unit)
    return []


def measure(dataset: Dataset) -> list[tuple[str, float, str]]:
    """Figures as a name, a value and a unit."""
    tokenizer = load_tokenizer(dataset.tokenizer)
    tokens = [tokenizer.token_bytes(token_id) for token_id in range(tokenizer.vocab_size)]
    before = peak_rss_mib()
    started = time.perf_counter()
    for _ in build_index(dataset, tokens, None, StopToken()):
        pass
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in (dataset.folder / FOLDER).iterdir())
    figures = [
        ("tokens in the file", dataset.train_tokens / MEGABYTE, "million"),
        ("building the index", seconds, "s"),
        ("memory at most, the mapped files included", peak_rss_mib(), "MiB"),
        ("of it before the building", before, "MiB"),
        ("files of the index", size / MEGABYTE, "MB"),
    ]
    return [*figures, *_look_ups(dataset)]


def write_dataset(folder: Path, kind: str, least_bytes: int) -> Dataset:
    """A data set of so much text; the process that makes it is not the one that is measured."""
    folder.mkdir()
    tokenizer: Tokenizer
    if kind == "char":
        tokenizer = CharTokenizer.train(_texts(least_bytes))
    else:
        tokenizer = BpeTokenizer.train(_texts(LEARNED_FROM_MEGABYTES * MEGABYTE), VOCAB_SIZE)
    sha256 = save_tokenizer(tokenizer, folder / "tokenizer.json")
    dtype = token_dtype(tokenizer.vocab_size)
    with TokenFileWriter(folder / "train.bin", dtype) as file:
        for encoded in encode_passages(tokenizer, ((text, False) for text in _texts(least_bytes))):
            file.append(encoded.ids)
    return Dataset(
        folder=folder,
        train_tokens=file.count,
        val_tokens=0,
        vocab_size=tokenizer.vocab_size,
        dtype=dtype,
        has_conversations=False,
        documents=1,
        characters=least_bytes,
        bytes=least_bytes,
        split_by="documents",
        unknown_tokens=0,
        train_sha256=file.sha256,
        tokenizer_sha256=sha256,
    )


def _look_ups(dataset: Dataset) -> list[tuple[str, float, str]]:
    started = time.perf_counter()
    index = SeenIndex(dataset)
    opened = time.perf_counter() - started
    rng = random.Random(1)
    repeated: list[float] = []
    new: list[float] = []
    for _ in range(LOOK_UPS):
        reply = _reply(dataset, rng)
        words = reply.split()
        rng.shuffle(words)
        for text, times in ((reply, repeated), (" ".join(words), new)):
            started = time.perf_counter()
            index.find(text)
            times.append(1000 * (time.perf_counter() - started))
    return [
        ("opening it, its files hashed", opened, "s"),
        (f"a reply of {PIECES} passages, median", float(np.median(repeated)), "ms"),
        (f"a reply of {PIECES} passages, 99th percentile", float(np.percentile(repeated, 99)), "ms"),
        ("a reply of the same words in another order, median", float(np.median(new)), "ms"),
        ("a reply of the same words, 99th percentile", float(np.percentile(new, 99)), "ms"),
    ]


def _reply(dataset: Dataset, rng: random.Random) -> str:
    """Pieces from all over the training text."""
    text = (dataset.folder / FOLDER / "text.bin").open("rb")
    size = (dataset.folder / FOLDER / "text.bin").stat().st_size
    pieces: list[str] = []
    with text:
        while len(pieces) < PIECES:
            text.seek(rng.randrange(size))
            read = text.read(REPLY_CHARACTERS // PIECES).decode("utf-8", "ignore")
            pieces.append(read)
    return " or ".join(pieces)


def _texts(least_bytes: int) -> Iterator[str]:
    """Texts of so many bytes, or a little more, always the same ones.

    Raises:
        SourcesMissingError: There are none to begin with.
    """
    paths = sysconfig.get_paths()
    roots = [Path(paths["stdlib"]), Path(paths["purelib"])]
    files = sorted(path for root in roots for path in root.rglob("*") if path.suffix in ENDINGS)
    if not files:
        raise SourcesMissingError
    rng = random.Random(1)
    rng.shuffle(files)
    size, again = 0, False
    while True:
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace")[: 2 * MEGABYTE]
            if again:
                lines = text.split("\n")
                rng.shuffle(lines)
                text = "\n".join(lines)
            yield text
            size += len(text.encode())
            if size >= least_bytes:
                return
        again = True
