"""The runs of a workspace as rows for a box or list."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt

from app.widgets.rows import Index, Rows
from core.runs.catalog import RunSummary
from core.wording import counted


class RunList(Rows[RunSummary]):
    """A read-only view of the catalog, newest run first; the catalog stays the owner."""

    def show(self, runs: Sequence[RunSummary]) -> None:
        """Take over what the catalog says now. Rows change in place where the same runs stand in the same order."""
        if [run.name for run in runs] == [run.name for run in self._rows]:
            self.replace(runs)
        else:
            self.reset(runs)  # a run that was trained on has moved to the top

    def place(self, name: str) -> int:
        """Where the run stands, -1 where it does not."""
        return next((place for place, run in enumerate(self._rows) if run.name == name), -1)

    def has_checkpoints(self) -> bool:
        """Whether there is a run whose model can be opened."""
        return any(run.last_step is not None for run in self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """A run of which nothing can be read is seen, and cannot be selected."""
        run = self.find(index.row()) if index.isValid() else None
        is_lost = run is not None and bool(run.problem) and run.last_step is None
        return Qt.ItemFlag.NoItemFlags if is_lost else super().flags(index)

    def cell(self, row: RunSummary, column: int, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _line(row)
            case Qt.ItemDataRole.ToolTipRole:
                more = f", {counted(row.parameters, 'parameter')}, preset {row.preset}"
                return f"{_line(row)}{'' if row.problem else more}"
        return super().cell(row, column, role)


def _line(run: RunSummary) -> str:
    if run.problem:
        return f"{run.name}: {run.problem}"
    best = "" if run.val_loss is None else f", best {run.val_loss:.3f}"
    return f"{run.name}: step {run.step:,} of {run.max_steps:,}{best}"
