"""The tokens nearest to one in the embedding space, as a list, and how far two tokens are from each other."""

from typing import Any, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QVBoxLayout, QWidget

from app.tabs.inspect.plane.plane_canvas import facts
from app.widgets.controls.elided_label import ElidedLabel
from app.widgets.controls.small import named_button
from app.widgets.label import Label
from app.widgets.theme import SMALL, TINY, colours, mono_font, set_role
from app.widgets.token_text import visible
from core.inspection.plane import EmbeddingPlane, Neighbours, Projection, TokenDistance
from core.inspection.plane_report import neighbours_table

NEIGHBOURS = 20
ROW_HEIGHT_PX = 24
WIDTH_PX, NARROW_PX = 264, 224
NUMBER_WIDTH_PX = 78
TITLES = ("Token", "Cosine", "Distance")
TIPS = (
    "␣ is a space, ⏎ the end of a line, → a tab; grey where the token is not among the points shown",
    "e_i · e_j / (|e_i| |e_j|), from -1 to 1: in all dimensions",
    "|e_i - e_j|, Euclidean: in all dimensions",
)
HOW_TO = "Click a token, or find one, to list its neighbours."
HOW_TO_MEASURE = "Shift and a click on a second token measure the distance."
ROOT = QModelIndex()
Index: TypeAlias = QModelIndex | QPersistentModelIndex


class NeighbourTable(QAbstractTableModel):
    """The neighbours of one token, the nearest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._plane: EmbeddingPlane | None = None
        self._projection: Projection | None = None
        self._near: Neighbours | None = None
        self._mono = mono_font()

    def show(
        self, plane: EmbeddingPlane | None, projection: Projection | None, near: Neighbours | None
    ) -> None:
        """Show other neighbours; None for none."""
        self.beginResetModel()
        self._plane, self._projection, self._near = plane, projection, near
        self.endResetModel()

    def token_id(self, row: int) -> int:
        assert self._near is not None, "there are rows only with it"
        return int(self._near.ids[row])

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() or self._near is None else len(self._near.ids)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(TITLES)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(TITLES):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return TIPS[section]
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self._near is None or self._plane is None or self._projection is None:
            return None
        row, column = index.row(), index.column()
        token_id = int(self._near.ids[row])
        if role == Qt.ItemDataRole.DisplayRole:
            texts = (
                visible(self._plane.texts[token_id]),
                f"{self._near.cosine[row]:.3f}",
                f"{self._near.distance[row]:.3f}",
            )
            return texts[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{facts(self._plane, token_id)} · cosine {self._near.cosine[row]:.6f}, distance {self._near.distance[row]:.6g}"
        if role == Qt.ItemDataRole.FontRole and column == 0:
            return self._mono
        if role == Qt.ItemDataRole.ForegroundRole and self._projection.place(token_id) < 0:
            return QColor(colours().muted)
        return None


class NeighbourPanel(QWidget):
    """Beside the plane: the picked token, its neighbours, and a measured distance.

    Signals:
        chosen: The id of a neighbour that the user came to, by a click or Enter.
    """

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(WIDTH_PX)
        self._plane: EmbeddingPlane | None = None
        self._token_id = -1
        self.title = ElidedLabel()
        set_role(self.title, "subtitle")
        self.facts = Label(wordWrap=True)
        self.measured = Label(objectName="planeDistance", wordWrap=True)
        for label in (self.facts, self.measured):
            set_role(label, "muted")
        self.table = NeighbourTable(self)
        self.view = _NeighbourView(objectName="neighbourView")
        self.view.setModel(self.table)
        self.view.chosen.connect(self._choose)
        self._arrange_view()
        self.copy_button = named_button(
            "Copy &neighbours", "copyNeighboursButton", "copy", "Copy this list as text"
        )
        set_role(self.copy_button, "quiet")
        self.copy_button.clicked.connect(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        for part in (self.title, self.facts, self.view, self.measured, self.copy_button):
            layout.addWidget(part, stretch=int(part is self.view))
        layout.setSpacing(SMALL)
        self.clear()

    def be_narrow(self, narrow: bool) -> None:
        """Leave more room to the plane."""
        self.setFixedWidth(NARROW_PX if narrow else WIDTH_PX)

    def clear(self) -> None:
        """No token is picked."""
        self._token_id = -1
        self.title.setText("Nearest neighbours")
        self.facts.setText(HOW_TO)
        self.measured.setText(HOW_TO_MEASURE)
        self.table.show(None, None, None)
        self.copy_button.setEnabled(False)

    def show_token(
        self, plane: EmbeddingPlane, projection: Projection, token_id: int, near: Neighbours
    ) -> None:
        self._plane, self._token_id = plane, token_id
        name = visible(plane.texts[token_id])
        self.title.setText(f"Nearest to {name}")
        hidden = "" if projection.place(token_id) >= 0 else " · not among the points shown"
        self.facts.setText(f"{facts(plane, token_id)}{hidden}")
        self.measured.setText(HOW_TO_MEASURE)
        self.table.show(plane, projection, near)
        self.view.setAccessibleName(f"Nearest neighbours of {name}")
        self.copy_button.setEnabled(True)

    def show_measured(self, first: str, second: str, measured: TokenDistance) -> None:
        plane = ""
        if measured.in_plane is not None:
            plane = f"\nin this plane {measured.in_plane:.4g} (cosine {measured.cosine_in_plane:.3f})"
        self.measured.setText(
            f"{visible(first)} to {visible(second)}: cosine {measured.cosine:.4f}, "
            f"distance {measured.euclidean:.4g} in all dimensions{plane}"
        )

    def _arrange_view(self) -> None:
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.setTabKeyNavigation(False)  # Tab leaves the table; the arrow keys move in it
        self.view.verticalHeader().hide()
        self.view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT_PX)
        header = self.view.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            self.view.setColumnWidth(column, NUMBER_WIDTH_PX)

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(self.table.token_id(index.row()))

    @Slot()
    def _copy(self) -> None:
        if self._plane is not None and self._token_id >= 0:
            text = neighbours_table(self._plane, self._token_id, NEIGHBOURS).as_text()
            QGuiApplication.clipboard().setText(text)


class _NeighbourView(QTableView):
    """A row is chosen by a click or by Enter, on every platform."""

    chosen = Signal(QModelIndex)

    def __init__(self, parent: QWidget | None = None, **properties: Any) -> None:
        super().__init__(parent, **properties)
        self.clicked.connect(self.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
