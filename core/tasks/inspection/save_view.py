"""The request "save this view": its numbers or its picture, as the file's suffix says."""

from collections.abc import Generator
from pathlib import Path

from core.control import StopToken
from core.disk.files import write_whole
from core.errors.base import UsageError
from core.events.base import Event
from core.inspection.inspected import Inspected
from core.inspection.selection import Selection
from core.inspection.view_kinds import ViewKind

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
        from core.figures import rendered  # here, because it imports matplotlib

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
