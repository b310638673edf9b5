"""By what is noticed that a file or a record is no longer what was written: SHA-256, in hexadecimal."""

import hashlib
import json
from pathlib import Path
from typing import Any


def hash_file(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_record(record: dict[str, Any]) -> str:
    """Of an object of JSON, whatever the order and the spacing it was written in."""
    return hashlib.sha256(json.dumps(record, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
