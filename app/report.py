"""What a report of a problem should hold: versions, the system, and the end of the log."""

import importlib.metadata
import platform
from pathlib import Path

PACKAGES = ("sheepop-studio", "PySide6_Essentials", "torch", "pydantic", "tokenizers", "pypdf", "pypdfium2")
LOG_TAIL = 8_000  # characters

LOG_NAME = "studio.log"


def problem_report(workspace: Path) -> str:
    """A text to paste into a report. It holds no document and no reply of a model."""
    lines = [f"{name} {_version(name)}" for name in PACKAGES]
    lines += [
        f"Python {platform.python_version()}",
        platform.platform(),
        "",
        "Log:",
        _log_tail(workspace / LOG_NAME),
    ]
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"  # a frozen program carries few of these records


def _log_tail(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:] or "(empty)"
    except OSError:
        return "(none)"
