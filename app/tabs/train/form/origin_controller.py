"""Reads the settings of the run that a start goes out from."""

from PySide6.QtCore import QObject, Slot

from app.errors import present
from app.tabs.train.form.start_from import Origin
from app.tabs.train.tab import TrainTab
from core.errors.base import UserFacingError
from core.runs.base_model import fine_tune_config
from core.runs.catalog import Catalog
from core.runs.folder import Workspace


class OriginController(QObject):
    """Connects what the tab wants to start from with the catalog. Small files are read, and no job is needed."""

    def __init__(self, tab: TrainTab, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tab, self._workspace = tab, workspace
        tab.settings_requested.connect(self._show_settings)
        tab.base_requested.connect(self._show_base)

    @Slot(str)
    def _show_settings(self, name: str) -> None:
        try:
            self._tab.start_mode.show_resume(name, Catalog(self._workspace).config(name))
        except UserFacingError as error:
            self._refuse(error)

    @Slot(str)
    def _show_base(self, reference: str) -> None:
        try:
            self._tab.start_mode.show_base(fine_tune_config(self._workspace, reference))
        except UserFacingError as error:
            self._refuse(error)

    def _refuse(self, error: UserFacingError) -> None:
        self._tab.start_from.choose(Origin.NEW)
        present(error, self._tab.banner)
