"""Which workspaces this user opened last on this machine."""

import json
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QSettings

from app import settings

MOST = 8
_KEY = "workspaces/recent"


class RecentWorkspaces:
    """A list in the user's own configuration: it is none of a workspace's, which may be given away."""

    def __init__(self) -> None:
        self._store = QSettings(str(settings.personal_file()), QSettings.Format.IniFormat)

    def paths(self) -> list[Path]:
        """The last opened first; what another hand wrote into the file and is no path is left out."""
        stored = self._store.value(_KEY)
        with suppress(ValueError, RecursionError):
            names = json.loads(stored) if isinstance(stored, str) else []
            if isinstance(names, list):
                return [Path(name) for name in names if _is_path(name)][:MOST]
        return []

    def add(self, path: Path) -> None:
        """This one was opened now."""
        self._keep([path, *(other for other in self.paths() if other != path)])

    def forget(self, path: Path) -> None:
        """This one is not there any more."""
        self._keep([other for other in self.paths() if other != path])

    def _keep(self, paths: list[Path]) -> None:
        self._store.setValue(_KEY, json.dumps([str(path) for path in paths[:MOST]]))
        self._store.sync()


def _is_path(name: object) -> bool:
    return isinstance(name, str) and "\0" not in name and Path(name).is_absolute()
