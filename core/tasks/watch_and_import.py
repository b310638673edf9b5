"""A folder kept in step with the library from the command line: imported once, then again wherever it changes."""

from collections.abc import Generator
from pathlib import Path

from core.config.corpus import ImportConfig
from core.control import StopToken
from core.events import Event
from core.runs.folder import Workspace
from core.tasks.import_files import OWN_FILES_LEFT_OUT, import_files, own_files
from core.tasks.watch_folder import files_there, watch_folder


def watch_and_import(
    folder: Path, config: ImportConfig, workspace: Workspace, stop: StopToken
) -> Generator[Event, None, None]:
    """Import what is new or changed in `folder`, now and from here on, until asked to stop.

    Raises:
        MissingPathError: The folder is not there, or not any more.
        WorkspaceError, DiskFullError, DamagedLibraryError: The library cannot be used.
    """
    workspace.prepare()
    left_out = own_files(workspace)
    if left_out.lies_below(folder) or left_out.holds(folder):
        yield OWN_FILES_LEFT_OUT
    for changed in watch_folder(workspace, folder, stop):
        yield changed
        if there := files_there(changed):
            yield from import_files(there, config, workspace, stop)
