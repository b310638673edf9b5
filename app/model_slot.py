"""The one open model, passed through the window as a closed box: only core's tasks look inside."""

from PySide6.QtCore import QObject, Signal

from core.tasks.open_model import OpenModel


class ModelSlot(QObject):
    """Holds at most one model, so that two never fill the memory at once.

    Signals:
        changed: Another model is open now, or none.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model: OpenModel | None = None

    @property
    def model(self) -> OpenModel | None:
        return self._model

    def put(self, model: OpenModel) -> None:
        """Hold `model` in the place of whatever was held."""
        self._model = model
        self.changed.emit()

    def release(self) -> None:
        """Let go of the model, so that its memory is free as soon as no job uses it."""
        if self._model is not None:
            self._model = None
            self.changed.emit()
