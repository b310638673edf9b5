"""What the window remembers between two starts."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

APPLICATION = "SheepOp Studio"


class WindowSettings:
    """The window's own memory, an INI file in the workspace: a workspace opens as it was left."""

    def __init__(self, workspace: Path) -> None:
        self._store = QSettings(str(workspace / "window.ini"), QSettings.Format.IniFormat)

    @property
    def geometry(self) -> QByteArray:
        """Size and place of the window; empty at the first start."""
        return QByteArray(self._store.value("window/geometry") or QByteArray())

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    @property
    def tab(self) -> str:
        """The object name of the tab that was open last."""
        return str(self._store.value("window/tab", ""))

    @tab.setter
    def tab(self, value: str) -> None:
        self._store.setValue("window/tab", value)

    @property
    def appearance(self) -> str:
        """ "system", "light" or "dark"."""
        return str(self._store.value("window/appearance", "system"))

    @appearance.setter
    def appearance(self, value: str) -> None:
        self._store.setValue("window/appearance", value)

    @property
    def reading(self) -> str:
        """How files are to be read, an `ImportConfig` as JSON; "" at the first start."""
        return str(self._store.value("corpus/reading", ""))

    @reading.setter
    def reading(self, value: str) -> None:
        self._store.setValue("corpus/reading", value)

    @property
    def cleaning(self) -> str:
        """What is cleaned out of texts, a `CleaningConfig` as JSON; "" at the first start."""
        return str(self._store.value("corpus/cleaning", ""))

    @cleaning.setter
    def cleaning(self, value: str) -> None:
        self._store.setValue("corpus/cleaning", value)

    @property
    def watched(self) -> str:
        """The folder whose new files are read; "" where none is watched."""
        return str(self._store.value("corpus/watched", ""))

    @watched.setter
    def watched(self, value: str) -> None:
        self._store.setValue("corpus/watched", value)

    def save(self) -> None:
        """Write what changed to the disk now."""
        self._store.sync()
