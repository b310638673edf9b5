import os

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from app.widgets.page_area import PageArea
from app.widgets.theme import Theme
from core.config.personal import PersonalConfig
from tests.app import screens
from tests.app.clipping import clipped_widgets
from tests.app.conftest import plain_looks_afterwards

SIZES = [(800, 600), (853, 533), (1024, 700), (1366, 768), (1280, 800)]
CHROME = 88


def settle():
    for _ in range(8):
        QApplication.processEvents()


mode = os.environ.get("MODE", "")


@pytest.fixture(scope="module")
def looks(qapp):
    with plain_looks_afterwards(qapp):
        t = Theme(qapp, "light")
        t.put_on_style_sheet()
        if "l" in mode:
            f = qapp.font()
            f.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 140)
            qapp.setFont(f)
        if "b" in mode:
            t.wear(PersonalConfig(text_size=150, appearance="light"))
        yield t


@pytest.mark.parametrize("screen", screens.TABS, ids=lambda s: s.__name__)
def test_scan(looks, qapp, screen):
    tab = screen()
    area = PageArea(tab)
    area.tab = tab
    area.show()
    with open(f"/tmp/w_scan{mode}.txt", "a") as f:
        for w, h in SIZES:
            area.resize(w, h - CHROME)
            settle()
            if tab.size().toTuple() != (w, h - CHROME):
                print(
                    f"{screen.__name__} {w}x{h}: tab is {tab.size().toTuple()} min {tab.minimumSizeHint().toTuple()}",
                    file=f,
                )
            for c in clipped_widgets(area):
                print(f"{screen.__name__} {w}x{h}: {c}", file=f)
            if os.environ.get("SHOT") and screen.__name__ in os.environ["SHOT"].split(","):
                area.grab().save(f"/tmp/shots/{screen.__name__}-{w}{mode}.png")
    area.close()
    area.deleteLater()
