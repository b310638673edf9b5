"""What was once measured on this machine, kept so that the same run is set up the same way twice."""

import json

from core.disk.files import write_whole
from core.errors.base import UserFacingError
from core.runs.folder import Workspace


def remembered(workspace: Workspace, key: str) -> str:
    """What `remember` kept under this key; empty where it kept nothing."""
    return _read(workspace).get(key, "")


def remember(workspace: Workspace, key: str, value: str) -> None:
    """Keep a measured choice. Where it cannot be kept, it is measured again the next time."""
    try:
        write_whole(workspace.measurements, json.dumps(_read(workspace) | {key: value}, indent=2) + "\n")
    except UserFacingError:
        return


def _read(workspace: Workspace) -> dict[str, str]:
    try:
        record = json.loads(workspace.measurements.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(k): str(v) for k, v in record.items()} if isinstance(record, dict) else {}
