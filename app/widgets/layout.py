"""Rows and columns of widgets: without margins, and with one small space between two of them, unless they say otherwise."""

from typing import TypeAlias, TypeVar

from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from app.widgets.theme import SMALL

STRETCH = None  # room that nothing takes, between two parts

Part: TypeAlias = QWidget | QLayout | tuple[QWidget | QLayout, int] | None
Margins: TypeAlias = int | tuple[int, int, int, int]
L = TypeVar("L", bound=QBoxLayout)


def row(*parts: Part, of: QWidget | None = None, margins: Margins = 0, spacing: int = SMALL) -> QHBoxLayout:
    """Parts from left to right.

    Args:
        parts: Widgets and layouts; `(part, n)` takes n shares of the room that is left, and `STRETCH` is such room.
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


def _filled(layout: L, parts: tuple[Part, ...], margins: Margins, spacing: int) -> L:
    layout.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    layout.setSpacing(spacing)
    for part in parts:
        widget, share = part if isinstance(part, tuple) else (part, 0)
        match widget:
            case None:
                layout.addStretch(1)
            case QWidget():
                layout.addWidget(widget, share)
            case _:
                layout.addLayout(widget, share)
    return layout
