"""A reader that does what its file says: worker processes find it by this module's name."""

import os
import sys
import time
from pathlib import Path

from core.config.corpus import ImportConfig
from core.documents.document import Document
from core.documents.reading import read_document


def read(path: Path, config: ImportConfig) -> Document:
    match path.read_text(encoding="utf-8"):
        case "hang":
            time.sleep(600)
        case "crash":
            os.abort()
        case "swell":
            bytearray(8 * 1024**3)
        case "defect":
            raise KeyError("/Root")
        case "modules":
            heavy = sorted({"torch", "PySide6", "numpy.random"} & set(sys.modules))
            return Document(str(path), "text", "", f"{heavy}, {os.environ['OMP_THREAD_LIMIT']}", 1, (), -1.0)
    return read_document(path, config)
