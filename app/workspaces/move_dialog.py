"""What shows while a workspace moves: no window is open on it then."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from app.jobs.job import Job, Stream
from app.jobs.job_queue import JobQueues
from app.widgets.dialog import Dialog
from app.widgets.label import Label
from app.widgets.layout import STRETCH, column, row
from app.widgets.theme import LARGE
from app.workspaces.recent_workspaces import RecentWorkspaces
from core.events.workspaces import WorkspaceCopied
from core.runs.folder import Workspace
from core.system.packaged import APPLICATION
from core.tasks.workspaces.move_workspace import has_rest, move_workspace, remove_rests
from core.wording import file_size

PARTS = 1_000  # of the bar: Qt counts no further than two billion, which are few bytes
_WIDTH_PX = 440


def put_moved_last() -> list[Path]:
    """Let no workspace that has moved away be opened first, and return the places where something of one is left."""
    recent = RecentWorkspaces()
    left = [path for path in recent.paths() if has_rest(path)]
    for path in left:
        if not path.exists():
            recent.put_last(path)
    return left


def finish_moves(places: Sequence[Path], queues: JobQueues) -> None:
    """Remove, in a job, what a kill has left of workspaces after they had moved elsewhere."""
    if places:
        queues.start("moves", partial(remove_rests, places)).ended.connect(_forget)


def _forget(gone: Sequence[Path]) -> None:
    for path in gone:
        RecentWorkspaces().forget(path)


class MoveDialog(Dialog):
    """Moves a workspace once it is shown, and can be told to leave it where it is.

    Signals:
        ended: The `Workspace` as it lies now, and the exception that kept it where it was, or None.
    """

    ended = Signal(object, object)

    def __init__(
        self,
        workspace: Workspace,
        target: Path,
        parent: QWidget | None = None,
        *,
        move: Callable[..., Stream] = move_workspace,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("moveDialog")
        self.setWindowTitle(APPLICATION)
        self.setMinimumWidth(_WIDTH_PX)
        self._workspace, self.target = workspace, target
        self.words = Label(f"Moving the workspace to {target}…", wordWrap=True)
        self.bar = QProgressBar(maximum=0, textVisible=False)
        self.bar.setAccessibleName("How much has been copied")
        self.amount = Label(role="muted")
        self.stop_button = QPushButton("&Stop", objectName="stopMovingButton")
        self.stop_button.setToolTip("Leave the workspace where it is")
        self.stop_button.clicked.connect(self.reject)
        last = row(self.amount, STRETCH, self.stop_button)
        column(self.words, self.bar, last, of=self, margins=LARGE)
        self._job = Job(partial(move, workspace, target), self)
        self._job.arrived.connect(self._show_events)
        self._job.ended.connect(self._end)
        self._job.failed.connect(self._fail)

    def begin(self) -> None:
        """Show itself and move the workspace."""
        self.show()
        self._job.start()

    def reject(self) -> None:
        """Stop; `ended` comes when what was copied is gone again."""
        self._job.stop()
        self.stop_button.setEnabled(False)
        self.words.setText("Stopping. The workspace stays where it is…")

    @Slot(list)
    def _show_events(self, events: list[WorkspaceCopied]) -> None:
        last = events[-1]
        self.bar.setMaximum(PARTS)
        self.bar.setValue(PARTS * last.bytes_done // max(last.bytes_total, 1))
        self.amount.setText(f"{file_size(last.bytes_done)} of {file_size(last.bytes_total)}")

    @Slot(object)
    def _end(self, workspace: Workspace | None) -> None:
        self.hide()
        self.ended.emit(workspace or self._workspace, None)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self.hide()
        self.ended.emit(self._workspace, error)
