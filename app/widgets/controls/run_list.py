"""The runs of a workspace as rows for a box or list."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from core.runs.catalog import RunSummary
from core.wording import counted

ROOT = QModelIndex()

Index: TypeAlias = QModelIndex | QPersistentModelIndex


class RunList(QAbstractListModel):
    """A read-only view of the catalog, newest run first; the catalog stays the owner."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._runs: list[RunSummary] = []

    def show(self, runs: Sequence[RunSummary]) -> None:
        """Take over what the catalog says now. Rows change in place where the same runs stand in the same order."""
        if [run.name for run in runs] == [run.name for run in self._runs]:
            self._runs = list(runs)
            if runs:
                self.dataChanged.emit(self.index(0), self.index(len(runs) - 1))
            return
        self.beginResetModel()  # a run that was trained on has moved to the top
        self._runs = list(runs)
        self.endResetModel()

    def run(self, row: int) -> RunSummary | None:
        """The run in a row; None for a row that is not there, such as that of an empty choice."""
        return self._runs[row] if 0 <= row < len(self._runs) else None

    def row(self, name: str) -> int:
        """Where the run stands, -1 where it does not."""
        return next((row for row, run in enumerate(self._runs) if run.name == name), -1)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        run = self._runs[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _line(run)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{_line(run)}, {counted(run.parameters, 'parameter')}, preset {run.preset}"
        return None


def _line(run: RunSummary) -> str:
    best = "" if run.val_loss is None else f", best {run.val_loss:.3f}"
    return f"{run.name}: step {run.step:,} of {run.max_steps:,}{best}"
