"""The request "a report of this run": one HTML file with all that the run wrote down."""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from core.control import StopToken
from core.events import Baseline, Event, ReportWritten
from core.files import write_whole
from core.runs.folder import Workspace
from core.runs.pointers import state_or_none
from core.system_errors import WorkspaceError, system_error
from core.tasks.measure_baselines import read_baselines

if TYPE_CHECKING:
    from core.reporting.run_record import RunRecord

SUFFIX = ".html"


def report_name(run: str) -> str:
    """What the file is called where nobody chose a name."""
    return f"{run}-report{SUFFIX}"


def write_report(
    workspace: Workspace, name: str, path: Path, stop: StopToken
) -> Generator[Event, None, Path]:
    """Write the report of a run to `path`, in place of what was there; no model is opened.

    Raises:
        UnknownRunError: There is no such run.
        DiskFullError, SystemRefusalError: The file cannot be written.
    """
    from core.reporting.page import report_page  # here, because it imports matplotlib
    from core.reporting.run_record import read_record

    del stop  # it takes seconds at most
    record = read_record(workspace, name)
    content = report_page(record, _baselines(workspace, record)).encode("utf-8")
    try:
        write_whole(path, content)
    except WorkspaceError as refused:  # the file may lie anywhere
        if isinstance(cause := refused.__cause__, OSError):
            raise system_error(OSError(cause.errno, cause.strerror, str(path))) from cause
        raise
    yield ReportWritten(name, str(path), len(content))
    return path


def _baselines(workspace: Workspace, record: "RunRecord") -> tuple[Baseline, ...]:
    """Those that were measured of the run's data set; none where the run's losses count a part of its tokens only."""
    state = state_or_none(record.folder, record.summary.last_step)
    if state is None or record.config is None or record.config.training.assistant_only_loss:
        return ()
    measured = read_baselines(workspace, state.dataset)
    return () if measured is None else measured.baselines
