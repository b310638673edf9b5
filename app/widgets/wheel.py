"""Steps of a wheel, also from touchpads, which report small parts of a step."""

from PySide6.QtGui import QWheelEvent

STEP = 120  # `angleDelta` of one notch of a usual wheel
PIXELS_PER_STEP = 60  # where a touchpad reports pixels alone


class WheelSteps:
    """Adds up wheel events and returns whole steps; a turn in the other direction begins at zero."""

    def __init__(self) -> None:
        self._part = 0

    def take(self, event: QWheelEvent) -> int:
        """Return the steps that an event completes: above zero for away from the user."""
        turned = event.angleDelta().y() or event.pixelDelta().y() * STEP // PIXELS_PER_STEP
        if turned * self._part < 0:
            self._part = 0
        self._part += turned
        steps = int(self._part / STEP)
        self._part -= steps * STEP
        return steps
