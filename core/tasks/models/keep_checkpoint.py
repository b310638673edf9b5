"""The requests to keep a checkpoint for ever, and to let one go."""

from contextlib import suppress

from core.control import StopRequested, StopToken
from core.events.base import at_once
from core.runs.catalog import Catalog
from core.runs.folder import Workspace
from core.runs.kept import drop_kept, keep_checkpoint


@at_once
def keep(workspace: Workspace, run: str, which: str, name: str, stop: StopToken) -> tuple[str, ...]:
    """Keep a checkpoint of a run under a name, and give all names there are; errors as for `keep_checkpoint`."""
    catalog = Catalog(workspace)
    with suppress(StopRequested):
        keep_checkpoint(catalog.folder(run), which, name, stop)
    return catalog.summary(run).kept


@at_once
def let_go(workspace: Workspace, run: str, name: str, stop: StopToken) -> tuple[str, ...]:
    """Let a kept checkpoint go, and give the names that are left; errors as for `drop_kept`."""
    del stop
    catalog = Catalog(workspace)
    drop_kept(catalog.folder(run), name)
    return catalog.summary(run).kept
