"""A format of an export is one file and one line."""

import sys
from types import ModuleType

from typer.testing import CliRunner

from core.commands import export as command_file
from core.control import StopToken
from core.events.exporting import ModelExported
from core.export import formats
from core.export.material import FilePart, Verified
from core.tasks.models.export_model import export_model
from core.tokenizers.files import load_tokenizer

CARD = b"sheepop-studio"


def test_a_dummy_format_is_in_the_help_the_list_and_the_task(trained, tmp_path, monkeypatch):
    tokenizer = load_tokenizer(trained.run("first").tokenizer)
    dummy = ModuleType("core.export.dummy")  # the one file
    dummy.obstacles = lambda *_: ()
    dummy.parts = lambda _: (FilePart("README.md", lambda path: path.write_bytes(CARD)),)
    dummy.verify = lambda *_: Verified(0.0, tokenizer.encode)
    monkeypatch.setitem(sys.modules, dummy.__name__, dummy)
    line = formats.ExportFormat(
        "dummy", "Dummy files", ("f32",), "dummy:obstacles", "dummy:parts", "dummy:verify"
    )
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, line))
    assert formats.format_named("dummy") is line
    assert "dummy (Dummy files)" in formats.formats_help()
    *_, end = export_model(trained, "first", "best", "dummy", tmp_path / "out", StopToken())
    assert isinstance(end, ModelExported)
    assert (tmp_path / "out" / "README.md").read_bytes() == CARD


def test_the_help_of_the_command_lists_all_formats():
    shown = " ".join(
        CliRunner().invoke(command_file.app, ["export", "--help"], env={"COLUMNS": "300"}).output.split()
    )
    for known in formats.FORMATS:
        assert f"{known.name} ({known.title})" in shown
