"""What marks the words that were found, but for the current match: painted over the text, line by line.

Not as selections: for each of these Qt draws its lines again, which takes a second where a page has a thousand.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QTextBlock, QTextDocument, QTextLine

from app.widgets.theme import colours

Span = tuple[int, int]  # places of a document, from and to
SHARE = 0.18  # of the colour over the text: more makes muted text hard to read
LINE_PX = 2


def paint_match(painter: QPainter, box: QRectF) -> None:
    """Mark what stands in a part of a line: a tint over the text, and a line below it."""
    colour = QColor(colours().warning)
    painter.fillRect(QRectF(box.left(), box.bottom() - LINE_PX, box.width(), LINE_PX), colour)
    colour.setAlphaF(SHARE)
    painter.fillRect(box, colour)


def paint_matches(painter: QPainter, document: QTextDocument, spans: Sequence[Span], area: QRectF) -> None:
    """Mark these places of a document, which are in order, as far as they stand in an area of it."""
    block = document.findBlock(spans[0][0]) if spans else document.end()
    while block.isValid() and block.position() < spans[-1][1]:
        bounds = document.documentLayout().blockBoundingRect(block)
        if bounds.intersects(area):
            _paint_block(painter, block, bounds, spans, area)
        block = block.next()


def within(spans: Sequence[Span], first: int, last: int) -> Sequence[Span]:
    """Those that reach into the places from `first` to `last`."""
    start = bisect_right(spans, first, key=lambda span: span[1])
    return spans[start : bisect_left(spans, last, start, key=lambda span: span[0])]


def _paint_block(
    painter: QPainter, block: QTextBlock, bounds: QRectF, spans: Sequence[Span], area: QRectF
) -> None:
    layout = block.layout()
    for number in range(layout.lineCount()):
        line = layout.lineAt(number)
        box = QRectF(0, bounds.top() + line.y(), 0, line.height())
        if box.bottom() < area.top() or box.top() > area.bottom():
            continue
        begin = block.position() + line.textStart()
        for first, last in within(spans, begin, begin + line.textLength()):
            left, right = (_x_of(line, place - block.position()) for place in (first, last))
            box.setLeft(bounds.left() + min(left, right))
            box.setRight(bounds.left() + max(left, right))
            paint_match(painter, box)


def _x_of(line: QTextLine, place: int) -> float:
    """Where a place of a block stands in a line; its begin or end for places outside."""
    end = line.textStart() + line.textLength()
    at: float = line.cursorToX(min(max(place, line.textStart()), end))[0]  # type: ignore[index]
    return at
