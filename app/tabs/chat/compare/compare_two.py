"""Two models side by side on the same prompt and seed."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.tabs.chat.compare.compare_column import CompareColumn
from app.tabs.chat.compare.compared_text import parting, shown_prompt
from app.widgets.controls.small import named_button
from app.widgets.label import Label
from app.widgets.layout import column, row
from app.widgets.theme import TINY
from app.widgets.token_text import quoted
from core.events.base import Event
from core.events.comparison import SideEnded, SideMoved, SideOpened, SideRead, SideScored, SideWritten
from core.runs.catalog import RunSummary
from core.tasks.chat.compare_replies import ComparedPrompt
from core.tasks.models.compared_models import Side
from core.wording import counted, printable

SAME = "A and B are the same model. Select another run or checkpoint for one of them; if there is none, train another run."
LONGEST_PIECE = 20  # characters of what stands where the replies part


class TwoModels(QWidget):
    """Two columns, and a line that says where the replies part.

    Signals:
        talk_requested: A run and a checkpoint to go on talking with.
        changed: Another model was chosen.
    """

    talk_requested = Signal(str, str)
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.columns = (CompareColumn("A"), CompareColumn("B"))
        self.swap_button = named_button("", "swapModelsButton", "swap", "Swap the two models", role="quiet")
        self.swap_button.setAccessibleName("Swap the two models")
        self.line = Label(objectName="partingLabel", wordWrap=True, accessibleName="Where the replies differ")
        self._notes: list[str] = []
        self._ended = 0
        self._lay_out()
        self.swap_button.clicked.connect(self.swap)
        for one in self.columns:
            one.talk_requested.connect(self.talk_requested)
            one.changed.connect(self._begin_line)
            one.changed.connect(self.changed)

    def sides(self) -> tuple[Side, Side] | None:
        """The two models that are chosen; None where one is missing."""
        first, second = (one.side for one in self.columns)
        return (first, second) if first is not None and second is not None else None

    def runs(self) -> list[RunSummary]:
        return [one.choice.run for one in self.columns if one.choice.run is not None]

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        for place, one in enumerate(self.columns):
            one.show_runs(runs, place)

    def choose(self, side: Side) -> None:
        """Put a model into the first column, and another one into the second where that would be the same."""
        first, second = self.columns
        first.choose(side)
        if first.state == second.state:
            second.choose_other_than(first.state)
        self._begin_line()

    def _begin_line(self) -> None:
        """What to do where both are the same."""
        first, second = (one.state for one in self.columns)
        self.line.setText(SAME if first is not None and first == second else "")

    def begin(self, prompt: ComparedPrompt) -> None:
        self._notes, self._ended = [], 0
        self.line.clear()
        for one in self.columns:
            one.begin(shown_prompt(prompt))
            one.set_idle(False)

    def show_events(self, events: Sequence[Event]) -> None:
        """Let the columns grow by what was written."""
        pending = ["", ""]
        for event in events:
            if isinstance(event, SideWritten):
                pending[event.side] += event.text
                continue
            self._write(pending)
            pending = ["", ""]
            self._show_event(event)
        self._write(pending)
        self._mark()

    def end(self) -> None:
        for one in self.columns:
            one.set_idle(True)

    @Slot()
    def swap(self) -> None:
        """Put each model in the other's place; what they wrote goes with a new comparison."""
        sides = self.sides()
        if sides is not None:
            self.columns[0].choose(sides[1])
            self.columns[1].choose(sides[0])
            self.changed.emit()

    def _write(self, pending: Sequence[str]) -> None:
        for one, text in zip(self.columns, pending, strict=True):
            if text:
                one.text.write(text)

    def _show_event(self, event: Event) -> None:
        match event:
            case SideOpened():
                self.columns[event.side].show_opened(event)
            case SideRead() if event.unknown:
                lacks = ", ".join(event.unknown)
                self._note(event.side, f"the vocabulary lacks {lacks}")
            case SideMoved():
                self._note(event.side, "the context was full: its beginning is forgotten")
            case SideEnded():
                self._ended += 1
                self.columns[event.side].show_ended(event)
            case SideScored():
                self.columns[event.side].show_scored(event)

    def _note(self, side: int, text: str) -> None:
        note = f"{self.columns[side].letter}: {text}."
        if note not in self._notes:  # a long reply moves its context again and again
            self._notes.append(note)

    def _mark(self) -> None:
        first, second = (one.text.reply for one in self.columns)
        place = parting(first, second, whole=self._ended == len(self.columns))
        for one in self.columns:
            one.text.part_at(place)
        self.line.setText(
            " ".join([_parting_line(first, second, place, self._ended == 2), *self._notes]).strip()
        )

    def _lay_out(self) -> None:
        first, second = self.columns
        pair = row((first, 1), (self.swap_button, Qt.AlignmentFlag.AlignTop), (second, 1), spacing=TINY)
        column((pair, 1), self.line, of=self)


def _parting_line(first: str, second: str, place: int | None, ended: bool) -> str:
    if place is None:
        return "Both replies are the same." if ended and first else ""
    a, b = (
        quoted(printable(text[place : place + LONGEST_PIECE])) if text[place:] else "its end"
        for text in (first, second)
    )
    if not place:
        return f"The replies differ from their beginning: A has {a}, B has {b}."
    return f"The replies are alike for {counted(place, 'character')}; then A has {a}, B has {b}."
