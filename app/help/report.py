"""What a report of a problem should hold: versions, the system, the last crash, and the end of the log."""

import importlib.metadata
import os
import platform
from pathlib import Path

import psutil
from PySide6.QtGui import QGuiApplication

from core.wording import counted, file_size

PACKAGE = "sheepop-studio"
PACKAGES = (PACKAGE, "PySide6_Essentials", "torch", "pydantic", "tokenizers", "pypdf", "pypdfium2")
LOG_TAIL = 8_000  # characters

LOG_NAME = "studio.log"
LOG_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
UNKNOWN = "unknown"  # a program without the record of a package; nothing is imported to ask it


def problem_report(workspace: Path, crash: str = "") -> str:
    """A text to paste into a report. It holds no document and no reply of a model.

    Args:
        crash: What the last crash left, under a heading; "" where there was none.
    """
    lines = [f"{name} {version(name)}" for name in PACKAGES]
    lines += [
        f"Python {platform.python_version()}",
        platform.platform(),
        machine(),
        f"Window: {QGuiApplication.platformName()}, scaled by {QGuiApplication.primaryScreen().devicePixelRatio():g}",
        *(["", crash] if crash else []),
        "",
        "Log:",
        _log_tail(workspace / LOG_NAME),
    ]
    return "\n".join(lines)


def machine() -> str:
    """The processor's architecture, how many the system has of it, and its memory."""
    memory = file_size(psutil.virtual_memory().total)
    return f"{platform.machine()}, {counted(os.cpu_count() or 1, 'processor')}, {memory} of memory"


def version(package: str) -> str:
    """The installed version of a package, read off its record."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN


def licence() -> str:
    """The program's own licence, as an SPDX identifier."""
    return next(iter(_record("License-Expression")), UNKNOWN)


def project_page() -> str:
    """The first address that the project gives of itself; "" where it gives none."""
    return next((line.partition(",")[2].strip() for line in _record("Project-URL")), "")


def _record(field: str) -> list[str]:
    try:
        return importlib.metadata.metadata(PACKAGE).get_all(field) or []
    except importlib.metadata.PackageNotFoundError:
        return []


def _log_tail(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:] or "(empty)"
    except OSError:
        return "(none)"
