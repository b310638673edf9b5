"""What the program says of this machine, and of one that lacks something."""

import json

import pytest

from core.errors.base import OcrUnavailableError
from core.tasks.installation import capabilities as found


@pytest.fixture
def told(command, tmp_path):
    def tell():
        code, out, _ = command("doctor", "--json", "--workspace", tmp_path / "w")
        assert code == 0
        return {row["what"]: row for row in map(json.loads, out.splitlines())}

    return tell


def test_each_capability_says_what_follows(told):
    rows = told()
    assert {"system", "processor", "memory", "disk", "GPU", "OCR", "display"} <= rows.keys()
    assert all(row["found"] and row["therefore"] for row in rows.values())


def test_what_is_missing_comes_with_the_line_that_installs_it(told, monkeypatch):
    def unavailable():
        raise OcrUnavailableError("Tesseract is not installed", "Install it with `apt-get`.")

    monkeypatch.setattr(found, "installed_languages", unavailable)
    monkeypatch.setattr(found.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(found.shutil, "which", lambda _: None)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(found.sys, "platform", "linux")
    rows = told()
    missing = {what for what, row in rows.items() if row["is_missing"]}
    assert {"OCR", "serve", "tensorboard", "torch.compile", "display"} <= missing
    assert rows["serve"]["therefore"] == 'the server needs: pip install ".[serve]"'
    assert "apt-get" in rows["OCR"]["therefore"]


def test_a_driver_that_torch_cannot_use_is_told(told, monkeypatch, tmp_path):
    (tmp_path / "version").write_text("NVRM", encoding="ascii")
    monkeypatch.setattr(found, "NVIDIA", tmp_path / "version")
    if found.choose_device("auto").type == "cpu":
        assert told()["GPU"]["is_missing"]
