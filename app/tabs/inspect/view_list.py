"""The names of the views, one below the other, by which one is chosen."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QStringListModel, Signal, Slot
from PySide6.QtWidgets import QListView, QWidget

from app.widgets.theme import set_role
from core.inspection.view_kinds import ViewKind

WIDTH_PX = 150


class ViewList(QListView):
    """One row for each view.

    Signals:
        chosen: The name of the view that the user came to.
    """

    chosen = Signal(str)

    def __init__(self, kinds: Sequence[ViewKind], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("viewList")
        self.setAccessibleName("Views")
        self.setToolTip("What of the model's computation to look at")
        self.setFixedWidth(WIDTH_PX)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        set_role(self, "plain")
        self._names = [kind.name for kind in kinds]
        self.setModel(QStringListModel([kind.title for kind in kinds], self))
        self.choose(self._names[0])
        self.selectionModel().currentChanged.connect(self._report)

    @property
    def name(self) -> str:
        """Of the view that is chosen."""
        return self._names[self.currentIndex().row()]

    def choose(self, name: str) -> None:
        """Bring a view's row to the front."""
        self.setCurrentIndex(self.model().index(self._names.index(name), 0))

    @Slot(QModelIndex, QModelIndex)
    def _report(self, now: QModelIndex, _before: QModelIndex) -> None:
        self.chosen.emit(self._names[now.row()])
