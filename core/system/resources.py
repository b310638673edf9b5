"""Where the program's own pictures, styles and templates lie: beside the source, or inside the frozen program."""

import sys
from pathlib import Path

_ROOT = Path(getattr(sys, "_MEIPASS", Path(__file__).parents[2]))


def beside(name: str) -> Path:
    """The path of something that lies in the frozen program alone, such as "tesseract"."""
    return _ROOT / name


def resource(name: str) -> Path:
    """The path of a file below `resources/`, such as "icons/play.svg"."""
    return _ROOT / "resources" / name
