"""Runs on other machines: packed for them, and followed while they train there."""

import os
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction

from app.context import Context
from app.errors import sentences
from app.tabs.train.elsewhere.follow_dialog import FollowDialog
from app.tabs.train.elsewhere.pack_dialog import PackDialog
from app.tabs.train.tab import TrainTab
from app.widgets.icons import give_icon
from core.tasks.training.pack_run import pack_run

QUEUE = "packing"


class ElsewhereController(QObject):
    """Two entries of the menu File, and a dialog behind each.

    Attributes:
        actions: The entries.
        place: The folder, or HOST:FOLDER, that was followed last; "" for none.

    Signals:
        follow_requested: That of a run whose curves should be shown.
        front_requested: The tab should come to the front, for what is shown in it.
    """

    follow_requested = Signal(str)
    front_requested = Signal()

    def __init__(self, tab: TrainTab, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tab, self._workspace, self._queues = tab, context.workspace, context.queues
        self.place = ""
        self._pack_action = QAction("Run &elsewhere…", self)
        self._pack_action.setToolTip("Pack the run of the form in a folder, to train it on another machine")
        self._pack_action.triggered.connect(self.offer_pack)
        give_icon(self._pack_action, "server")
        self._follow_action = QAction("Fo&llow a run elsewhere…", self)
        self._follow_action.setToolTip("Show the curves of a run that trains on another machine")
        self._follow_action.triggered.connect(self.offer_follow)
        give_icon(self._follow_action, "eye")
        self.actions = [self._pack_action, self._follow_action]

    @Slot()
    def offer_pack(self) -> None:
        """Let the user choose where the run of the form is packed, or say why it cannot be."""
        self.front_requested.emit()
        obstacle = self._tab.obstacle_to_pack()
        if obstacle:
            self._tab.banner.show_problem("The run of the form cannot be packed.", obstacle)
            return
        dialog = PackDialog(self._tab.form.name(), self._tab)
        dialog.pack_requested.connect(partial(self._pack, dialog))
        dialog.stop_requested.connect(self._stop)
        dialog.open()

    @Slot()
    def offer_follow(self) -> None:
        """Let the user say which run is followed."""
        self.front_requested.emit()
        dialog = FollowDialog(self.place, self._tab)
        dialog.follow_requested.connect(self._follow)
        dialog.open()

    def _pack(self, dialog: PackDialog, path: Path) -> None:
        form = self._tab.form
        pack = partial(pack_run, self._workspace, form.name(), form.value(), path)
        job = self._queues.start(QUEUE, pack, doing="Packing a run")
        job.arrived.connect(dialog.show_events)
        job.ended.connect(dialog.show_ended)
        job.failed.connect(partial(_fail_in, dialog))

    @Slot()
    def _stop(self) -> None:
        self._queues.stop(QUEUE)

    @Slot(str)
    def _follow(self, place: str) -> None:
        self.place = os.path.expanduser(place)  # noqa: PTH111  # HOST:FOLDER is no path here
        self.follow_requested.emit(self.place)


def _fail_in(dialog: PackDialog, error: Exception) -> None:
    dialog.show_problem(" ".join(sentences(error)))
