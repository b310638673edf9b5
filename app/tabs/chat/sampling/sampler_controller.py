"""Keeps the panel's named settings in the workspace, in the background."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.context import Context
from app.tabs.chat.sampling.sampling_panel import SamplingPanel
from core.events.base import Task
from core.runs.samplers import Samplers
from core.tasks.chat.samplers import (
    delete_sampler,
    export_sampler,
    import_sampler,
    list_samplers,
    rename_sampler,
    save_sampler,
)


class SamplerController(QObject):
    """Connects a panel with the files of its workspace."""

    def __init__(self, panel: SamplingPanel, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panel, self._workspace, self._queues = panel, context.workspace, context.queues
        bar = panel.bar
        bar.save_requested.connect(self._save)
        bar.rename_requested.connect(self._rename)
        bar.delete_requested.connect(self._delete)
        bar.import_requested.connect(self._import)
        bar.export_requested.connect(self._export)

    @Slot()
    def refresh(self) -> None:
        """Read anew which there are."""
        self._start(list_samplers)

    @Slot(str)
    def _save(self, name: str) -> None:
        if not self._panel.problem():
            self._start(save_sampler, name, self._panel.value())

    @Slot(str, str)
    def _rename(self, name: str, new: str) -> None:
        self._start(rename_sampler, name, new)

    @Slot(str)
    def _delete(self, name: str) -> None:
        self._start(delete_sampler, name)

    @Slot(object)
    def _import(self, path: Path) -> None:
        self._start(import_sampler, path)

    @Slot(str, object)
    def _export(self, name: str, path: Path) -> None:
        self._start(export_sampler, name, path)

    def _start(self, task: Callable[..., Task[Samplers]], *arguments: object) -> None:
        job = self._queues.start("conversations", partial(task, self._workspace, *arguments))
        job.ended.connect(self._show)
        job.failed.connect(self._panel.bar.show_error)

    @Slot(object)
    def _show(self, samplers: Samplers) -> None:
        self._panel.bar.show_samplers(samplers)
