"""The views of the inspection for the window, which enters `core/inspection` by this door, and how a view is saved."""

from collections.abc import Generator
from pathlib import Path

from core.control import StopToken
from core.disk.files import write_whole
from core.errors.base import UsageError
from core.events.base import Event
from core.inspection.arithmetic import arithmetic
from core.inspection.attention import (
    HeadSummary,
    Over,
    is_off,
    layer_weights_in_steps,
    summaries,
)
from core.inspection.blocks import LEVELS as BLOCK_LEVELS
from core.inspection.blocks import block_diagram
from core.inspection.blocks import subject_of as block_subject
from core.inspection.captured import Measured, What
from core.inspection.cases import CASES
from core.inspection.changes import NO_CHANGES, Changes, Head, SubLayer, sub_layers
from core.inspection.costs import count_text, flops_text
from core.inspection.diagram import OPERATIONS, Arrow, Box, Diagram
from core.inspection.diagram import Level as BlockLevel
from core.inspection.diagram_colours import COLOURS as BLOCK_COLOURS
from core.inspection.diagram_colours import Colour as BlockColour
from core.inspection.effect import Effect, are_alike, divergences, effect
from core.inspection.embedding import (
    embedding_parts,
    embedding_sentence,
    embedding_vectors,
    rotary_angles,
)
from core.inspection.hidden import (
    HiddenStates,
    cosines,
    cosines_with,
    hidden_states,
    missing,
    place_of,
)
from core.inspection.inspected import Inspected
from core.inspection.lens import Candidate, LensGrid, lens_candidates, lens_grid
from core.inspection.next_token import (
    Filtered,
    Ranked,
    Sought,
    draw_next,
    filtered,
    next_table,
    ranked,
    settings_text,
    sought,
)
from core.inspection.patch_map import PATCH_TITLES, PatchMap, PatchPart
from core.inspection.quantities import QUANTITIES, Quantity, series
from core.inspection.selection import Selection
from core.inspection.steps import Arithmetic, Step, text_rows
from core.inspection.table import Table
from core.inspection.tokens import TokenScores, token_facts, token_scores
from core.inspection.view_kinds import KINDS, PATCHING, TRAINING, VIEWS, WHAT_IF, ViewKind
from core.inspection.view_variants import VARIANTS

__all__ = [
    "BLOCK_COLOURS",
    "BLOCK_LEVELS",
    "CASES",
    "KINDS",
    "NO_CHANGES",
    "OPERATIONS",
    "PATCHING",
    "PATCH_TITLES",
    "QUANTITIES",
    "TRAINING",
    "VARIANTS",
    "VIEWS",
    "WHAT_IF",
    "Arithmetic",
    "Arrow",
    "BlockColour",
    "BlockLevel",
    "Box",
    "Candidate",
    "Changes",
    "Diagram",
    "Effect",
    "Filtered",
    "Head",
    "HeadSummary",
    "HiddenStates",
    "Inspected",
    "LensGrid",
    "Measured",
    "Over",
    "PatchMap",
    "PatchPart",
    "PictureFormatError",
    "Quantity",
    "Ranked",
    "Selection",
    "Sought",
    "Step",
    "SubLayer",
    "Table",
    "TokenScores",
    "ViewKind",
    "What",
    "are_alike",
    "arithmetic",
    "block_diagram",
    "block_subject",
    "check_format",
    "cosines",
    "cosines_with",
    "count_text",
    "counting_tokens",
    "divergences",
    "draw_next",
    "effect",
    "embedding_parts",
    "embedding_sentence",
    "embedding_vectors",
    "filtered",
    "flops_text",
    "hidden_states",
    "is_off",
    "layer_weights_in_steps",
    "lens_candidates",
    "lens_grid",
    "missing",
    "next_table",
    "place_of",
    "ranked",
    "rotary_angles",
    "save_view",
    "saving_view",
    "seeking_token",
    "series",
    "settings_text",
    "sub_layers",
    "summaries",
    "text_rows",
    "token_facts",
    "token_scores",
]

NUMBERS, PICTURES = (".csv", ".json"), (".svg", ".png")


class PictureFormatError(UsageError):
    """A file whose suffix says nothing that a view can be saved as."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.message = f"A view cannot be saved as {path.suffix or 'a file without a suffix'}."
        self.remedy = "Choose a name that ends in .csv, .json, .svg or .png."


def check_format(kind: ViewKind, path: Path) -> None:
    """See that a view can be saved as the file's suffix says.

    Raises:
        PictureFormatError: It cannot.
    """
    if path.suffix.lower() not in (*NUMBERS, *(PICTURES if kind.draw else ())):
        raise PictureFormatError(path)


def save_view(kind: ViewKind, inspected: Inspected, selection: Selection, path: Path) -> None:
    """Write a view's numbers or its picture, as the file's suffix says: .csv, .json, .svg or .png.

    Raises:
        PictureFormatError: It says something else, or the view has no picture.
        DiskFullError, WorkspaceError: As `write_whole` does.
    """
    check_format(kind, path)
    suffix = path.suffix.lower()
    if kind.draw is not None and suffix in PICTURES:
        from core.inspection.figures import rendered  # here, because it imports matplotlib

        write_whole(path, rendered(kind.draw(inspected, selection), suffix))
    else:
        table = kind.table(inspected, selection)
        write_whole(path, table.as_json() if suffix == ".json" else table.as_csv())


def saving_view(
    kind: ViewKind, inspected: Inspected, selection: Selection, path: Path, stop: StopToken
) -> Generator[Event, None, Path]:
    """The same for a job, for which drawing takes too long to wait; returns the path."""
    del stop  # a picture takes a second at most
    save_view(kind, inspected, selection, path)
    yield from ()
    return path


def counting_tokens(inspected: Inspected, text: str, stop: StopToken) -> Generator[Event, None, int]:
    """How many tokens a text has, read as the phrase was."""
    stop.raise_if_asked()
    yield from ()
    return inspected.count_tokens(text)


def seeking_token(inspected: Inspected, text: str, stop: StopToken) -> Generator[Event, None, Sought | None]:
    """The token that a typed text begins with; None where it has none."""
    stop.raise_if_asked()
    yield from ()
    return sought(inspected, text)
