"""The formats of an export: a record for each, which command, task and help read.

A new format is one module beside this one and one line in `FORMATS`. Functions are named as "module:function", of modules in
this folder, and imported when an export asks for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors.exporting import UnknownFormatError

if TYPE_CHECKING:
    from core.export.material import FilePart, Material, Shape, Verified


@dataclass(frozen=True, slots=True)
class Format:
    """One format. An export in it is a folder.

    Args:
        name: As `--format` has it; an export goes to NAME-name where nobody chose a place.
        title: As a sentence calls it.
        obstacles: `(Shape) -> sequence of clauses`: why a model cannot be expressed in it; none where it can.
        parts: `(Material) -> sequence of FilePart`: the files.
        verification: `(Material, folder, ids) -> Verified`: loads the files back and compares; `ids` are token ids to
            compute logits for. Raises UnfaithfulExportError.
    """

    name: str
    title: str
    obstacles: str
    parts: str
    verification: str

    def obstacles_of(self, shape: "Shape") -> "Sequence[str]":
        """Why this model cannot be expressed; empty where it can."""
        return tuple(_function(self.obstacles)(shape))

    def parts_of(self, material: "Material") -> "Sequence[FilePart]":
        """The files that an export of this model has."""
        return tuple(_function(self.parts)(material))

    def verify(self, material: "Material", folder: Path, ids: Sequence[int]) -> "Verified":
        """Load what was written back, and compare.

        Raises:
            UnfaithfulExportError: It is not what the model is.
        """
        verified: Verified = _function(self.verification)(material, folder, ids)
        return verified


FORMATS = (
    Format(
        "hf", "Hugging Face folder", "hugging_face:obstacles", "hugging_face:parts", "hugging_face:verify"
    ),
)


def format_named(name: str) -> Format:
    """The format of that name.

    Raises:
        UnknownFormatError: There is none.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    raise UnknownFormatError(name, [known.name for known in FORMATS])


def formats_help() -> str:
    """The formats as the help of a command lists them."""
    return ", ".join(f"{known.name} ({known.title})" for known in FORMATS)


@cache
def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"core.export.{module}"), function)
    return found
