"""A data set on the disk: the token files of training and validation text, and what there is to know of them."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from core.batches.token_file import TokenFile, token_dtype
from core.errors import DamagedDatasetError

VERSION = 1  # of the folder's files; an older data set is built again
DESCRIPTION_FILE, TOKENIZER_FILE = "dataset.json", "tokenizer.json"

Split = Literal["train", "val"]
SPLITS: tuple[Split, ...] = ("train", "val")


@dataclass(frozen=True, slots=True)
class Dataset:
    """What `dataset.json` says. Documents, characters and UTF-8 bytes count training and validation text.

    So does `unknown_tokens`: how often `<unk>` stands for what the vocabulary lacks. Files of version 0.1 did not
    count them, and are read as if there were none.
    """

    folder: Path
    train_tokens: int
    val_tokens: int
    vocab_size: int
    dtype: str  # "uint16" or "uint32"
    has_conversations: bool
    documents: int
    characters: int
    bytes: int
    split_by: str  # "documents" or "blocks"
    unknown_tokens: int

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def tokenizer(self) -> Path:
        return self.folder / TOKENIZER_FILE

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / max(1, self.train_tokens + self.val_tokens)

    @property
    def unknown_share(self) -> float:
        """The part of all tokens that is `<unk>`, from 0 to 1."""
        return self.unknown_tokens / max(1, self.train_tokens + self.val_tokens)

    def tokens(self, split: Split) -> TokenFile:
        """The token file of a split, open for reading."""
        return TokenFile(token_path(self.folder, split), self.dtype)

    def to_json(self) -> str:
        """Everything but the folder, which may move."""
        record = dataclasses.asdict(self)
        del record["folder"]
        return json.dumps({"version": VERSION} | record, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, folder: Path) -> Self:
        """The data set that `to_json` described.

        Raises:
            ValueError: The text is not such a description.
        """
        record = json.loads(text)
        fields = {field.name: field.type for field in dataclasses.fields(cls) if field.name != "folder"}
        if not isinstance(record, dict) or record.pop("version", None) != VERSION:
            raise ValueError("not a data set's description, or one of another version")
        record.setdefault("unknown_tokens", 0)
        if record.keys() != fields.keys() or any(
            type(record[name]) is not kind for name, kind in fields.items()
        ):
            raise ValueError("a field is missing or of another type")
        if record["dtype"] != token_dtype(record["vocab_size"]):
            raise ValueError("the type of the tokens is not that of the vocabulary")
        return cls(folder=folder, **record)


def token_path(folder: Path, split: Split) -> Path:
    return folder / f"{split}.bin"


def read_dataset(folder: Path) -> Dataset:
    """The data set in `folder`, its files checked to be there and as long as they should be.

    Raises:
        DamagedDatasetError: A file is missing, cut short or unreadable.
    """
    try:
        dataset = Dataset.from_json((folder / DESCRIPTION_FILE).read_text(encoding="utf-8"), folder)
        lengths = len(dataset.tokens("train")), len(dataset.tokens("val"))
    except FileNotFoundError as cause:
        raise DamagedDatasetError(folder.name, f"{Path(cause.filename).name} is missing") from cause
    except ValueError as cause:  # JSON's errors, and memory mapping's for a file cut within a token
        raise DamagedDatasetError(folder.name, "a file in it is damaged") from cause
    if lengths != (dataset.train_tokens, dataset.val_tokens):
        raise DamagedDatasetError(folder.name, "its token files are not of the length they should be")
    if not dataset.tokenizer.exists():
        raise DamagedDatasetError(folder.name, f"{dataset.tokenizer.name} is missing")
    return dataset
