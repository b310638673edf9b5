"""A file of token ids: written as a stream, read through memory mapping, so that neither grows with the corpus."""

import hashlib
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.disk.files import writing_whole


def token_dtype(vocab_size: int) -> str:
    """The narrowest type that holds every id of a vocabulary."""
    return "uint16" if vocab_size <= 65_536 else "uint32"


class TokenFileWriter:
    """Appends ids to a file that appears under its name when the `with` block ends well, and not otherwise.

    Args:
        path: The file to be.
        dtype: "uint16" or "uint32"; on the disk the low byte comes first.
    """

    def __init__(self, path: Path, dtype: str) -> None:
        self.count = 0
        self._digest = hashlib.sha256()
        self._path = path
        self._open_files = ExitStack()
        self._dtype = _on_disk(dtype)

    @property
    def sha256(self) -> str:
        """The SHA-256 of what was appended so far, as it left the memory."""
        return self._digest.hexdigest()

    def __enter__(self) -> Self:
        self._file = self._open_files.enter_context(writing_whole(self._path))
        return self

    def append(self, ids: ArrayLike) -> None:
        """Add ids, each at least 0 and within the file's type."""
        array = np.asarray(ids)
        assert array.size == 0 or (array.min() >= 0 and array.max() <= np.iinfo(self._dtype).max)
        content = array.astype(self._dtype).tobytes()
        self._file.write(content)  # `tofile` hides why a write failed
        self._digest.update(content)
        self.count += array.size

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_files.__exit__(kind, error, trace)


class TokenFile:
    """The ids of a file, read from the disk when they are asked for.

    Args:
        path: A file that a `TokenFileWriter` wrote.
        dtype: The type it was written with.
    """

    def __init__(self, path: Path, dtype: str) -> None:
        empty = path.stat().st_size == 0  # which memory mapping refuses
        self._ids = np.empty(0, _on_disk(dtype)) if empty else np.memmap(path, _on_disk(dtype), mode="r")

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, part: slice) -> NDArray[np.int64]:
        """A copy of a part, in memory."""
        return self._ids[part].astype(np.int64)


def _on_disk(dtype: str) -> np.dtype[np.unsignedinteger]:
    return np.dtype(dtype).newbyteorder("<")
