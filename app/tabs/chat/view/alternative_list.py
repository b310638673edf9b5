"""The tokens that the model held likeliest in one place, as rows that can be chosen, each with its probability as a bar."""

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.widgets.theme import SMALL, TINY, colours
from app.widgets.token_text import probability_in_brief, shortened
from core.events.replies import Alternative

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
TOKEN_SHARE = 0.42  # of the width, for the text
WIDTH_PX = 300
FIGURES = "0.000406 %"  # as long as a probability gets


class AlternativeModel(QAbstractListModel):
    """One row for each alternative; `ItemDataRole.UserRole` is the alternative itself."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Alternative] = ()

    def show(self, rows: Sequence[Alternative]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        one = self._rows[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return one
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{shortened(one.text)}, {probability_in_brief(one.probability)}"
        return None


class AlternativeList(QListView):
    """Click one, or choose it with the arrow keys and Enter.

    Signals:
        chosen: The id of a token.
    """

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("alternativeList")
        self.setAccessibleName("The likeliest tokens here")
        self.setToolTip("Click one to cut the text here, put it in, and go on")
        self.setModel(AlternativeModel(self))
        self.setItemDelegate(_Bars(self))
        self.setMouseTracking(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._choose)

    def show_alternatives(self, rows: Sequence[Alternative], written: int) -> None:
        """`written` is the id of the token that stands in the text."""
        model = self.model()
        assert isinstance(model, AlternativeModel)
        model.show(rows)
        self.setProperty("written", written)
        self.setFixedHeight(len(rows) * self._row_height() + 4)

    def sizeHint(self) -> QSize:
        return QSize(WIDTH_PX, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._choose(self.currentIndex())
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()  # for whoever closes the popup
        else:
            super().keyPressEvent(event)

    def _row_height(self) -> int:
        return self.fontMetrics().height() + TINY

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        one = index.data(Qt.ItemDataRole.UserRole)
        if self.isEnabled():
            self.chosen.emit(one.token_id)


class _Bars(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(WIDTH_PX - 2 * SMALL, option.fontMetrics.height() + TINY)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one, place = index.data(Qt.ItemDataRole.UserRole), QRectF(option.rect)
        theme = colours()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Selected):
            painter.fillRect(place, QColor(theme.accent_soft))
        place.adjust(TINY, 0, -TINY, 0)
        is_written = option.widget.property("written") == one.token_id
        painter.setPen(QColor(theme.accent if is_written else theme.text))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, middle, shortened(one.text))
        left = TOKEN_SHARE * place.width()
        figures = option.fontMetrics.horizontalAdvance(FIGURES) + SMALL
        bar = QRectF(place.left() + left, place.top() + TINY + 2, place.width() - left - figures, 0)
        bar.setBottom(place.bottom() - TINY - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.border))
        painter.drawRoundedRect(bar, 3, 3)
        painter.setBrush(QColor(theme.accent))
        bar.setWidth(max(bar.width() * one.probability, 1))
        painter.drawRoundedRect(bar, 3, 3)
        painter.setPen(QColor(theme.muted))
        painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, probability_in_brief(one.probability))
        painter.restore()
