"""An icon is drawn for the screen's own pixels, whatever the screen's scale."""

import os
import subprocess
import sys

import pytest

PROBE = """
import sys
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication
app = QApplication([])
from app.widgets.icons import SIZES_PX, icon
ratio = float(sys.argv[1])
for size in SIZES_PX:
    shown = icon("add").pixmap(QSize(size, size), ratio)
    assert (shown.width(), shown.devicePixelRatio()) == (round(size * ratio), ratio), (size, shown)
    assert shown.size() in icon("add").availableSizes(), size  # drawn in this size, not scaled to it
"""


@pytest.mark.parametrize("ratio", ["1", "1.25", "1.5", "2"])
def test_no_icon_is_scaled_to_the_screen(ratio):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": ratio}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, ratio], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
