"""The request "save this view": its numbers or its picture, as the file's suffix says."""

from pathlib import Path

from core.control import StopToken
from core.disk.files import checked_suffix, write_anywhere
from core.events.base import at_once
from core.inspection.inspected import Inspected
from core.inspection.selection import Selection
from core.inspection.view_kinds import ViewKind

NUMBERS, PICTURES = (".csv", ".json"), (".svg", ".png")


def check_format(kind: ViewKind, path: Path) -> str:
    """The suffix of a file that a view can be saved as: .csv, .json, and .svg or .png where it has a picture.

    Raises:
        SuffixError: It is another one.
    """
    return checked_suffix("A view", path, (*NUMBERS, *(PICTURES if kind.draw else ())))


def save_view(kind: ViewKind, inspected: Inspected, selection: Selection, path: Path) -> None:
    """Write a view's numbers or its picture, as the file's suffix says.

    Raises:
        SuffixError: As for `check_format`.
        DiskFullError, SystemRefusalError: As `write_anywhere` does.
    """
    suffix = check_format(kind, path)
    if kind.draw is not None and suffix in PICTURES:
        from core.figures import rendered  # here, because it imports matplotlib

        write_anywhere(path, rendered(kind.draw(inspected, selection), suffix))
    else:
        table = kind.table(inspected, selection)
        write_anywhere(path, table.as_json() if suffix == ".json" else table.as_csv())


@at_once
def saving_view(
    kind: ViewKind, inspected: Inspected, selection: Selection, path: Path, stop: StopToken
) -> Path:
    """The same for a job, for which drawing takes too long to wait; returns the path."""
    del stop  # a picture takes a second at most
    save_view(kind, inspected, selection, path)
    return path
