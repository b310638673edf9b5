"""Activation patching as a view: the map that an `Inspected` carries, as a table and as a picture."""

from typing import TYPE_CHECKING

from core.inspection.inspected import Inspected
from core.inspection.patch_map import draw_patch_map, patch_map_table
from core.inspection.selection import Selection
from core.inspection.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = "Nothing is patched yet"


def patching_table(inspected: Inspected, selection: Selection) -> Table:
    """One row for each place that was patched; none where nothing was."""
    del selection  # the map is of all positions
    if inspected.patch_map is None:
        return Table(NOTHING, ("after", "position", "probability", "change"), [])
    return patch_map_table(inspected.patch_map)


def draw_patching(inspected: Inspected, selection: Selection) -> "Figure":
    """The map as a picture; an empty one where nothing was patched."""
    del selection
    from core.figures import new_figure  # here, because it imports matplotlib

    return new_figure(NOTHING)[0] if inspected.patch_map is None else draw_patch_map(inspected.patch_map)
