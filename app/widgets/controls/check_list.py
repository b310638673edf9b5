"""A list of names to tick: kinds, tags."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QListView

from app.widgets.rows import Index, Rows

CHECKED, UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked


class CheckRow(NamedTuple):
    """One row: what it stands for, what is shown, and a text beside it, such as a count."""

    key: str
    title: str
    detail: str = ""


class CheckList(Rows[CheckRow]):
    """Rows with a tick each. One that is partly checked is so until the user changes it.

    Signals:
        changed: The user has ticked a row, or taken a tick away.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._states: dict[str, Qt.CheckState] = {}

    def show_rows(self, rows: Iterable[CheckRow]) -> None:
        """Show these rows. Ticks stay, also of rows that are not among them: such a row comes last."""
        wanted = list(rows)
        known = {row.key for row in wanted}
        wanted += [CheckRow(key, key) for key in self.checked() if key not in known]
        if wanted == self._rows:
            return
        if [row.key for row in wanted] == [row.key for row in self._rows]:
            self.replace(wanted)
        else:
            self.reset(wanted)

    def checked(self) -> tuple[str, ...]:
        """What is ticked wholly, in the order of the rows."""
        shown = [row.key for row in self._rows if self._states.get(row.key) is CHECKED]
        hidden = [key for key, state in self._states.items() if state is CHECKED and key not in shown]
        return (*shown, *hidden)

    def states(self) -> dict[str, Qt.CheckState]:
        """The tick of each row."""
        return {row.key: self._states.get(row.key, UNCHECKED) for row in self._rows}

    def check(self, keys: Sequence[str]) -> None:
        """Tick these and no others."""
        self.show_states(dict.fromkeys(keys, CHECKED))

    def show_states(self, states: Mapping[str, Qt.CheckState]) -> None:
        """Tick rows so, those that are not named not at all; `changed` is not emitted."""
        self._states = dict(states)
        self.show_rows(list(self._rows))
        self.tell_changed(0, len(self._rows) - 1)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return (
            super().flags(index) | Qt.ItemFlag.ItemIsUserCheckable
            if index.isValid()
            else super().flags(index)
        )

    def cell(self, row: CheckRow, column: int, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return f"{row.title}  {row.detail}".rstrip()
            case Qt.ItemDataRole.CheckStateRole:
                return self._states.get(row.key, UNCHECKED)
        return super().cell(row, column, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid():
            return False
        self._states[self._rows[index.row()].key] = Qt.CheckState(value)
        self.dataChanged.emit(index, index, [role])
        self.changed.emit()
        return True


class _CheckView(QListView):
    """Measures its rows anew when it is shown: the style sheet, which comes late, decides how high they are."""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.doItemsLayout()


def check_view(model: CheckList, name: str, title: str, tooltip: str) -> QListView:
    """A list in which Space, or a click, sets and takes away a tick."""
    view = _CheckView()
    view.setObjectName(name)
    view.setToolTip(tooltip)
    view.setAccessibleName(title)
    view.setModel(model)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    return view
