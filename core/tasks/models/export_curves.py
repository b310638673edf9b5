"""The requests to look at the curves of a run, and to write curves into a file: values, or a picture."""

import csv
import io
from collections.abc import Generator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from core.control import StopToken
from core.disk.files import writing_whole
from core.errors.base import UsageError
from core.events.base import Event
from core.events.runs import Baseline
from core.reporting.curve_table import curve_table
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.runs.history import RunHistory
from core.runs.quantities import ChartChoice

SUFFIXES = (".csv", ".png", ".svg")
EVENTS_AT_ONCE = 5000


class CurveFormatError(UsageError):
    """A file whose suffix says nothing that curves can be saved as."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.message = f"Curves cannot be saved as {path.suffix or 'a file without a suffix'}."
        self.remedy = "Choose a name that ends in .csv, .png or .svg."


def read_history(workspace: Workspace, name: str, stop: StopToken) -> Generator[Event, None, RunHistory]:
    """What a run has measured so far.

    Raises:
        UnknownRunError: There is no such run.
        StopRequested: `stop` was set before all was read.
    """
    yield from ()
    history, events = RunHistory(), Catalog(workspace).events(name)
    while some := list(islice(events, EVENTS_AT_ONCE)):
        stop.raise_if_asked()
        history.extend(some)
    return history


def export_curves(
    runs: Mapping[str, RunHistory],
    choice: ChartChoice,
    baselines: Sequence[Baseline],
    path: Path,
    stop: StopToken,
) -> Generator[Event, None, Path]:
    """Write the curves of runs; the first is the one in front.

    Args:
        path: A CSV file with raw and smoothed values, or a PNG or SVG picture, by its suffix.

    Raises:
        CurveFormatError: The suffix is another one.
        DiskFullError, WorkspaceError: It could not be written.
        StopRequested: `stop` was set before it was written; then there is no file.
    """
    yield from ()
    check_suffix(path)
    if path.suffix.lower() == ".csv":
        _write_table(runs, choice.smoothing, path, stop)
    else:
        _write_picture(runs, choice, baselines, path)
    return path


def check_suffix(path: Path) -> None:
    """See to it that curves can be written into a file of this name.

    Raises:
        CurveFormatError: Its suffix is none of those that can be written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise CurveFormatError(path)


def _write_table(runs: Mapping[str, RunHistory], smoothing: float, path: Path, stop: StopToken) -> None:
    with writing_whole(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        for rows in curve_table(runs, smoothing):
            stop.raise_if_asked()
            writer.writerows(rows)
        text.detach()


def _write_picture(
    runs: Mapping[str, RunHistory], choice: ChartChoice, baselines: Sequence[Baseline], path: Path
) -> None:
    from core.figures import rendered
    from core.reporting.charts import draw_curves

    figure = draw_curves(runs, choice, baselines)
    with writing_whole(path) as file:
        file.write(rendered(figure, path.suffix.lower()))
