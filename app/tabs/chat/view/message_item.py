"""One message in the view: its segments, each with a document only while it is near what is seen."""

from collections.abc import Sequence
from itertools import accumulate

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF

from app.tabs.chat.view.document_style import LINE_HEIGHT_PERCENT, DocumentStyle
from app.tabs.chat.view.message_segments import (
    Segment,
    grown,
    markdown_segments,
    plain_segments,
    without_half_fence,
)
from app.tabs.chat.view.segment_document import SegmentDocument, Span, segment_document
from app.tabs.chat.view.shown_message import ShownMessage, caption, remarks
from app.tabs.chat.view.token_spans import TokenSpans
from app.widgets.theme import HUGE, MEDIUM, SMALL, TINY, small_font

INDENT_PX = 4 * HUGE  # what a bubble leaves free on the side of the other speaker
WIDEST_PX = 900  # of a text: longer lines are hard to follow
CODE_HEAD_PX = HUGE + TINY  # the line with the language and the button
ACTIONS_PX = 30  # below a bubble, for its buttons


class Unit:
    """A segment where it stands: its height is estimated until its document was laid out once."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.document: SegmentDocument | None = None
        self.height = 0.0
        self.natural_width = 0.0
        self.is_measured = False

    @property
    def is_code(self) -> bool:
        return self.segment.kind == "code"

    @property
    def head(self) -> float:
        """What stands above its text, in pixels."""
        return SMALL + CODE_HEAD_PX if self.is_code and self.segment.opens else 0.0

    @property
    def frame(self) -> float:
        """Between its sides and its text, in pixels."""
        return SMALL if self.is_code else 0.0

    @property
    def foot(self) -> float:
        return SMALL + MEDIUM if self.is_code and self.segment.closes else 0.0

    def estimate(self, text: str, width: float, style: DocumentStyle) -> None:
        """Guess the height without a layout."""
        self.is_measured = False
        inner = _estimate(text, self.segment.first, self.segment.last, width, style)
        self.height = inner + self.head + self.foot + 2 * self.frame

    def measure(self) -> None:
        """Take the height that the document has."""
        assert self.document is not None
        self.height = self.document.size().height() + self.head + self.foot
        if self.is_code:
            self.height += SMALL * self.segment.opens
        self.natural_width = self.document.idealWidth() + 2 * self.frame
        self.is_measured = True


class MessageItem:
    """A message of the view. Its own coordinates begin at its top, below which stand caption, bubble, remarks, buttons.

    Attributes:
        text: What is shown of it; it grows while a reply is written.
        editor_height: Of the field that stands in the bubble's place while the message is edited; else 0.
    """

    def __init__(self, shown: ShownMessage, style: DocumentStyle, width: float) -> None:
        self.shown = shown
        self.text = shown.message.content
        self.is_written = False
        self.passages: Sequence[Span] = ()
        self.editor_height = 0
        self._spans: TokenSpans | None = None
        self._units: list[Unit] = []  # none until they are needed
        self._unit_tops: list[float] | None = None
        self._height: float | None = None
        self._width = width
        self.set_style(style)

    @property
    def spans(self) -> TokenSpans:
        """Its tokens, as far as they are known."""
        if self._spans is None:
            self._spans = TokenSpans.of(self.shown.message.content, self.shown.message.tokens)
        return self._spans

    @property
    def units(self) -> list[Unit]:
        """Its segments, cut when they are first needed."""
        if not self._units:
            text = self._shown_text()
            self._show(plain_segments(text) if self._is_plain() else markdown_segments(text))
        return self._units

    @property
    def is_user(self) -> bool:
        return self.shown.message.role == "user"

    @property
    def font(self) -> QFont:
        return self._style.font

    @property
    def caption(self) -> str:
        return caption(self.shown)

    @property
    def remarks(self) -> list[str]:
        return remarks(self.shown.message)

    # What it shows

    def set_style(self, style: DocumentStyle) -> None:
        """Show it in another way."""
        self._style = style
        self.caption_height = float(round(style.line_px * 0.85)) + TINY
        self._write_all()

    def set_width(self, width: float) -> None:
        """Lay it out anew, as wide as the view is."""
        self._width = width
        for unit in self._units:
            unit.document = None
            unit.estimate(self.text, self.text_width, self._style)
        self.forget_places()

    def replace(self, shown: ShownMessage) -> None:
        """Show a message in place of the one that was being written; what is the same in both stays laid out."""
        self.shown, self.is_written = shown, False
        self._spans = None
        text, self.text = self.text, shown.message.content
        if self.text.startswith(text) and self._is_plain() == (self.units[0].segment.kind == "plain"):
            self._show(grown(self.text, [unit.segment for unit in self.units]))
        else:
            self._write_all()
        if self._style.shading != "none":
            self.drop_documents()  # of other tokens, it may be

    def grow(self, text: str) -> None:
        """Add text at its end: only the last segment is laid out anew."""
        if len(self.spans) and self._is_plain() != (self.units[0].segment.kind == "plain"):
            self.text += text
            self._write_all()
            return
        self.text += text
        self._show(grown(self._shown_text(), [unit.segment for unit in self.units]))

    def mark(self, passages: Sequence[Span]) -> None:
        """Underline these characters."""
        self.passages = passages
        self.drop_documents()

    def drop_documents(self) -> None:
        """Build them anew when they are next seen; their heights stay."""
        for unit in self._units:
            unit.document = None

    def _is_plain(self) -> bool:
        """Whether the signs of Markdown are shown: they are tokens too, where tokens are shaded."""
        is_reply = self.shown.message.role == "assistant"
        return self._style.plain or not is_reply or (self._style.shading != "none" and len(self.spans) > 0)

    def _shown_text(self) -> str:
        return without_half_fence(self.text) if self.is_written and not self._is_plain() else self.text

    def _write_all(self) -> None:
        self._units = []
        self.forget_places()

    def _show(self, segments: list[Segment]) -> None:
        units, same = self._units, 0
        while same < min(len(segments), len(units)) and units[same].segment == segments[same]:
            same += 1
        units[same:] = [Unit(segment) for segment in segments[same:]]
        width = self.text_width
        for unit in units[same:]:
            unit.estimate(self.text, width, self._style)
        self.forget_places()

    # Where things stand

    @property
    def text_width(self) -> float:
        """The most that there is for a line, in pixels."""
        indent = INDENT_PX if self.is_user else 0
        return max(min(self._width - indent - 2 * MEDIUM - 2 * SMALL, WIDEST_PX), 40.0)

    @property
    def remarks_height(self) -> float:
        return sum(self.remark_height(remark) for remark in self.remarks)

    def remark_height(self, remark: str) -> float:
        """Of as many lines as it needs, in pixels."""
        room = QRectF(0, 0, self.text_width, 0)
        metrics = QFontMetricsF(small_font(self.font))
        lines = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, remark).height()
        return max(self.caption_height, lines + TINY)

    @property
    def height(self) -> float:
        if self._height is None:
            inner = self.editor_height or (self._tops()[-1] if self._units else self._guess())
            self._height = inner + self.frame_height
        return self._height

    def _guess(self) -> float:
        return _estimate(self.text, 0, len(self.text), self.text_width, self._style)

    @property
    def frame_height(self) -> float:
        """Of all but the text."""
        return MEDIUM + self.caption_height + 2 * SMALL + self.remarks_height + ACTIONS_PX

    def forget_places(self) -> None:
        self._unit_tops = None
        self._height = None

    def _tops(self) -> list[float]:
        """Where each unit begins below the first, and behind them where the last one ends."""
        if self._unit_tops is None:
            self._unit_tops = list(accumulate((unit.height for unit in self.units), initial=0.0))
        return self._unit_tops

    @property
    def text_top(self) -> float:
        return MEDIUM + self.caption_height + SMALL

    def unit_top(self, unit: int) -> float:
        return self.text_top + self._tops()[unit]

    def bubble(self) -> QRectF:
        """The rounded shape, as wide as its text where that is short."""
        width = self.text_width
        if len(self.units) == 1 and self.units[0].is_measured and not self.editor_height:
            width = min(max(self.units[0].natural_width, 2 * HUGE), width)
        width += 2 * MEDIUM
        height = (self.editor_height or self._tops()[-1]) + 2 * SMALL
        left = self._width - SMALL - width if self.is_user else float(SMALL)
        return QRectF(left, MEDIUM + self.caption_height, width, height)

    def text_left(self, unit: Unit) -> float:
        """Where a unit's text begins."""
        return self.bubble().left() + MEDIUM + unit.frame

    # Documents

    def lay_out(self, unit: Unit) -> None:
        """Give a unit its document and its true height."""
        unit.document = self.document_of(unit)
        unit.document.setTextWidth(self.text_width - 2 * unit.frame)
        before = unit.height
        unit.measure()
        if unit.height != before:
            self.forget_places()

    def document_of(self, unit: Unit) -> SegmentDocument:
        """The document of a unit, which is not laid out where it is a new one."""
        if unit.document is not None:
            return unit.document
        message = self.shown.message
        generated = message.generated if message.role == "text" else ()
        return segment_document(self.text, unit.segment, self._style, self.spans, self.passages, generated)


def _estimate(text: str, first: int, last: int, width: float, style: DocumentStyle) -> float:
    """How high these characters are, roughly: some of the lines are full ones."""
    lines = 1 + text.count("\n", first, last)
    rows = max(lines, 0.4 * lines + (last - first) * style.letter_px / width)
    return rows * style.line_px * LINE_HEIGHT_PERCENT / 100
