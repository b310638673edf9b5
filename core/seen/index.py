"""The index over a data set's training text: files in a folder of their own in the data set's, whole or not there.

    text.bin       the text with BREAK for special tokens, and a margin at both ends
    grams.bin      the sorted index over it (`grams.py`)
    passages.bin   where in the text a passage begins, after each <eos>
    documents.bin  which documents the passages are of: the number of a document, and of its first passage
    index.json     what it was made of, and the SHA-256 of the files

It takes 1.5 bytes for each byte of text.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.batches.dataset import Dataset
from core.batches.origins import Pairs
from core.batches.verification import verify_files
from core.control import StopToken
from core.disk.checksums import hash_file, hash_record
from core.disk.files import move_folder_into_place, raising_disk_errors, write_whole, writing_whole
from core.errors.base import UserFacingError
from core.seen.grams import Keys, parts_of, sorted_keys
from core.seen.passages import Found, find_passages
from core.seen.text import BREAK, MARGIN, Bytes, TokenBytes, decoded_chunks, token_counts
from core.wording import file_size

VERSION = 1
FOLDER, BUILDING, DESCRIPTION = "seen", ".building-seen", "index.json"
TEXT, GRAMS, PASSAGES, DOCUMENTS = "text.bin", "grams.bin", "passages.bin", "documents.bin"
FILES = (TEXT, GRAMS, PASSAGES, DOCUMENTS)


class IndexRoomError(UserFacingError):
    """The disk has no room for the index over a training text."""

    def __init__(self, name: str, needed: int, free: int) -> None:
        super().__init__(name, needed, free)
        self.message = (
            f"The index over the training text of data set {name} takes {file_size(needed)}, and the disk has "
            f"{file_size(free)} left."
        )
        self.remedy = "Free some space, then look again."


class DamagedIndexError(Exception):
    """An index that is missing, not whole, or of another text. Whoever asks builds it anew."""


@dataclass(frozen=True, slots=True)
class PassageOrigin:
    """The document that a place of the text is of, and how many characters of its training text stand before it."""

    document: int
    characters_before: int


class SeenIndex:
    """The index of a data set, memory-mapped.

    Raises:
        DamagedIndexError: There is none that can be used.
        StopRequested: `stop` was set while its files were compared.
    """

    def __init__(self, dataset: Dataset, stop: StopToken | None = None) -> None:
        folder = dataset.folder / FOLDER
        try:
            record = _read_description(folder)
            if record["made_of"] != _made_of(dataset) or verify_files(
                folder, record["files"], lambda _: False, stop
            ):
                raise DamagedIndexError(dataset.name)
            self._text: Bytes = _mapped(folder / TEXT, np.dtype(np.uint8))
            self._keys: Keys = _mapped(folder / GRAMS, np.dtype("<u8"))
            self._passages = _mapped(folder / PASSAGES, np.dtype("<i8"))
            self._documents = np.fromfile(folder / DOCUMENTS, "<i8").reshape(-1, 2)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
            raise DamagedIndexError(dataset.name) from cause

    @property
    def knows_documents(self) -> bool:
        return len(self._documents) > 0

    def find(self, query: str) -> Found:
        """The passages of a query that stand in the text."""
        return find_passages(self._text, self._keys, query)

    def origin(self, place: int) -> PassageOrigin | None:
        """Where a place of the text comes from; None where that is not known."""
        if not self.knows_documents:
            return None
        passage = int(np.searchsorted(self._passages, place, side="right"))
        row = int(np.searchsorted(self._documents[:, 1], passage, side="right")) - 1
        document, first = self._documents[row].tolist()
        begin = MARGIN if first == 0 else int(self._passages[first - 1])
        before = self._text[begin:place]
        return PassageOrigin(document, int(np.count_nonzero((before & 0xC0) != 0x80)))


def build_index(
    dataset: Dataset, tokens: list[bytes], documents: Pairs | None, stop: StopToken
) -> Iterator[tuple[int, int]]:
    """Write the index of a data set, which takes its place when it is whole. Only one process at a time may.

    Args:
        tokens: The UTF-8 bytes of each token of the vocabulary; none for a special one.
        documents: As `read_origins` gives them; None where they are not known.

    Yields:
        How many bytes of work are done, and how many there are.

    Raises:
        IndexRoomError: The disk has too little room; nothing was written.
        DiskFullError, WorkspaceError: It cannot be written.
        StopRequested: `stop` was set; what was there before is as it was.
    """
    token_bytes = TokenBytes(tokens)
    size = sum(
        token_bytes.length(counts) for counts in token_counts(dataset.tokens("train"), dataset.vocab_size)
    )
    _refuse_full_disk(dataset, size)
    building = dataset.folder / BUILDING
    shutil.rmtree(building, ignore_errors=True)  # of a process that was killed
    done, total = 0, size + parts_of(size + 2 * MARGIN) * (size + 2 * MARGIN)
    try:
        with raising_disk_errors(dataset.folder):
            building.mkdir()
            for step in _write_files(dataset, token_bytes, documents, building):
                stop.raise_if_asked()
                done += step
                yield done, total
            _describe(dataset, building, stop)
            move_folder_into_place(building, dataset.folder / FOLDER)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write_files(
    dataset: Dataset, token_bytes: TokenBytes, documents: Pairs | None, building: Path
) -> Iterator[int]:
    margin = np.full(MARGIN, BREAK, np.uint8)
    passages: list[NDArray[np.int64]] = []
    with writing_whole(building / TEXT) as file:
        file.write(margin.tobytes())
        for chunk, begins in decoded_chunks(dataset.tokens("train"), token_bytes, dataset.eos_id):
            file.write(chunk.tobytes())
            passages.append(begins + MARGIN)
            yield len(chunk)
        file.write(margin.tobytes())
    _write_numbers(building / PASSAGES, passages)
    rows = np.empty((0, 2), np.int64) if documents is None else documents.copy()
    rows[:, 1] = np.cumsum(rows[:, 1]) - rows[:, 1]
    _write_numbers(building / DOCUMENTS, [rows])
    with writing_whole(building / GRAMS) as file:
        for keys, read in sorted_keys(_mapped(building / TEXT, np.dtype(np.uint8))):
            file.write(keys.astype("<u8").tobytes())
            yield read


def _write_numbers(path: Path, arrays: Iterable[NDArray[np.int64]]) -> None:
    with writing_whole(path) as file:
        for array in arrays:
            file.write(array.astype("<i8").tobytes())


def _describe(dataset: Dataset, building: Path, stop: StopToken) -> None:
    record: dict[str, Any] = {
        "version": VERSION,
        "made_of": _made_of(dataset),
        "files": {name: hash_file(building / name, stop) for name in FILES},
    }
    write_whole(building / DESCRIPTION, json.dumps(record | {"sha256": hash_record(record)}, indent=2) + "\n")


def _read_description(folder: Path) -> dict[str, Any]:
    """Raises ValueError, KeyError or TypeError where it is not what was written."""
    record: dict[str, Any] = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    if record.pop("sha256") != hash_record(record) or record["version"] != VERSION:
        raise ValueError("not what was written, or by another version")
    return record


def _made_of(dataset: Dataset) -> str:
    """By what a stale index is noticed; data sets of version 0.1 did not keep a digest of their tokens."""
    made_of = f"{dataset.train_sha256} {dataset.train_tokens} {dataset.vocab_size}"
    return hashlib.sha256(made_of.encode()).hexdigest()


def _refuse_full_disk(dataset: Dataset, size: int) -> None:
    needed = size + size // 2 + (64 << 10)
    free = shutil.disk_usage(dataset.folder).free
    if free < needed:
        raise IndexRoomError(dataset.name, needed, free)


def _mapped(path: Path, dtype: "np.dtype[Any]") -> NDArray[Any]:
    """A file's numbers, read when they are asked for. A plain array over the map: slices of it cost less."""
    if path.stat().st_size == 0:  # which memory mapping refuses
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))
