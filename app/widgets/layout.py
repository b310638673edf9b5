"""Rows and columns of widgets: without margins, and with one small space between two of them, unless they say otherwise."""

from typing import TypeAlias, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFormLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from app.widgets.label import Label
from app.widgets.theme import SMALL

STRETCH = None  # room that nothing takes, between two parts

Part: TypeAlias = (
    QWidget | QLayout | tuple[QWidget | QLayout | None, int] | tuple[QWidget, Qt.AlignmentFlag] | int | None
)
Margins: TypeAlias = int | tuple[int, int, int, int]
L = TypeVar("L", bound=QBoxLayout)


def row(*parts: Part, of: QWidget | None = None, margins: Margins = 0, spacing: int = SMALL) -> QHBoxLayout:
    """Parts from left to right.

    Args:
        parts: Widgets and layouts; `(part, n)` takes n shares of the room that is left, and `STRETCH` is such room.
            `(widget, alignment)` is no larger than it needs to be, and a number is a space of so many pixels.
        of: The widget whose layout this is; None for a layout within another one.
        margins: In pixels, on all sides, or left, top, right and bottom.
        spacing: In pixels.
    """
    return _filled(QHBoxLayout() if of is None else QHBoxLayout(of), parts, margins, spacing)


def column(
    *parts: Part, of: QWidget | None = None, margins: Margins = 0, spacing: int = SMALL
) -> QVBoxLayout:
    """Parts from top to bottom; the rest is as for `row`."""
    return _filled(QVBoxLayout() if of is None else QVBoxLayout(of), parts, margins, spacing)


def boxed(layout: QLayout) -> QWidget:
    """A widget of its own for a layout, so that all of it can be shown, hidden or scrolled."""
    box = QWidget()
    box.setLayout(layout)
    return box


def form(*fields: tuple[str, QWidget], spacing: int = SMALL) -> QFormLayout:
    """Fields below each other, each behind a label that is as high as one line of it."""
    layout = QFormLayout()
    layout.setSpacing(spacing)
    for text, field in fields:
        layout.addRow(label_of(field, text), field)
    return layout


def label_of(field: QWidget, text: str) -> Label:
    """A label beside the middle of a field, or of its first line."""
    label = Label(text, buddy=field)
    field.ensurePolished()  # before its height is known
    label.setMinimumHeight(field.sizeHint().height())
    return label


def _filled(layout: L, parts: tuple[Part, ...], margins: Margins, spacing: int) -> L:
    layout.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    layout.setSpacing(spacing)
    for part in parts:
        match part:
            case None:
                layout.addStretch(1)
            case (None, int(share)):
                layout.addStretch(share)
            case int(pixels):
                layout.addSpacing(pixels)
            case (QWidget() as widget, Qt.AlignmentFlag() as alignment):
                layout.addWidget(widget, alignment=alignment)
            case (QWidget() as widget, int(share)):
                layout.addWidget(widget, share)
            case (QLayout() as inner, int(share)):
                layout.addLayout(inner, share)
            case QWidget():
                layout.addWidget(part)
            case QLayout():
                layout.addLayout(part)
    return layout
