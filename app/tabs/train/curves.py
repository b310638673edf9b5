"""The curves of a run: loss, learning rate and perplexity over the steps, read off its events."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QPushButton, QSlider, QSplitter, QVBoxLayout, QWidget

from app.tabs.train.progress import alike_in_a_row
from app.widgets.label import Label
from app.widgets.plot import CurvePlot, link
from app.widgets.theme import SMALL, set_role
from core.events import Evaluated, Event, RunPrepared, StepDone
from core.runs.smoothing import DEFAULT_SMOOTHING

LARGEST_EXPONENT = 700.0  # beyond it a perplexity is no float any more


class Curves(QWidget):
    """Three plots that share a crosshair, and the slider that smooths them.

    Signals:
        smoothing_changed: The weight of the past, in [0, 1).
    """

    smoothing_changed = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.loss = CurvePlot("Loss", "nats/token", "step", controls=self._make_controls())
        self.loss.setObjectName("lossPlot")
        self.learning_rate = CurvePlot("Learning rate", "", "step", legend=False)
        self.learning_rate.setObjectName("learningRatePlot")
        self.perplexity = CurvePlot("Perplexity", "", "step", legend=False)
        self.perplexity.setObjectName("perplexityPlot")
        self.plots = (self.loss, self.learning_rate, self.perplexity)
        for plot in (self.loss, self.perplexity):
            plot.add_curve("training", "plot_training", smoothed=True)
            plot.add_curve("validation", "plot_validation")
            self.smoothing_changed.connect(plot.set_smoothing)
        self.learning_rate.add_curve("rate", "plot_other")
        self.perplexity.set_log(True)
        link(self.plots)
        self._lay_out()

    def show_events(self, events: Sequence[Event]) -> None:
        """Draw what the events measured; a run that is taken up again goes on from its checkpoint's step."""
        steps: list[StepDone] = []
        evaluations: list[Evaluated] = []
        for kind, alike in alike_in_a_row(events):
            if kind is StepDone:
                steps += alike
            elif kind is Evaluated:
                evaluations += alike
            elif kind is RunPrepared:
                self._draw(steps, evaluations)
                steps, evaluations = [], []
                self._take_up(alike[-1].start_step)
        self._draw(steps, evaluations)

    def clear(self) -> None:
        for plot in self.plots:
            plot.clear()

    def _draw(self, steps: list[StepDone], evaluations: list[Evaluated]) -> None:
        x = np.array([event.step for event in steps], dtype=np.float64)
        losses = np.array([event.loss for event in steps], dtype=np.float64)
        self.loss.extend("training", x, losses)
        self.perplexity.extend("training", x, np.exp(np.minimum(losses, LARGEST_EXPONENT)))
        self.learning_rate.extend("rate", x, [event.learning_rate for event in steps])
        measured_at = [event.step for event in evaluations]
        self.loss.extend("validation", measured_at, [event.loss for event in evaluations])
        self.perplexity.extend("validation", measured_at, [event.perplexity for event in evaluations])
        if evaluations:
            self._mark_best()

    def _take_up(self, step: int) -> None:
        for plot in self.plots:
            plot.cut_after(step)
        self._mark_best()

    def _mark_best(self) -> None:
        for plot in (self.loss, self.perplexity):
            steps, values = plot.points("validation")
            if len(values):
                best = int(values.argmin())
                plot.mark_best(float(steps[best]), float(values[best]))

    def _make_controls(self) -> tuple[QWidget, ...]:
        self.smoothing = QSlider(Qt.Orientation.Horizontal, objectName="smoothingSlider")
        self.smoothing.setRange(0, 99)
        self.smoothing.setValue(round(100 * DEFAULT_SMOOTHING))
        self.smoothing.setFixedWidth(100)
        self.smoothing.setToolTip("How much of the past the bold training line remembers: 0 to 0.99")
        self.smoothing.setAccessibleName("Smoothing of the training curves")
        self.smoothing.valueChanged.connect(self._smooth)
        self._weight = Label(f"{DEFAULT_SMOOTHING:.2f}")
        set_role(self._weight, "muted")
        self.fit_button = QPushButton("Show &all")
        set_role(self.fit_button, "quiet")
        self.fit_button.setToolTip("Show all steps again after zooming with the mouse wheel")
        self.fit_button.setAccessibleName("Show all steps")
        self.fit_button.clicked.connect(self._fit)
        return Label("S&moothing", buddy=self.smoothing), self.smoothing, self._weight, self.fit_button

    def _lay_out(self) -> None:
        below = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        below.addWidget(self.perplexity)
        below.addWidget(self.learning_rate)
        split = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        split.addWidget(self.loss)
        split.addWidget(below)
        below.setSizes([550, 450])  # the perplexity has more to say above its plot
        split.setSizes([300, 200])
        for part in (below, split):
            part.setHandleWidth(SMALL)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)

    @Slot(int)
    def _smooth(self, percent: int) -> None:
        self._weight.setText(f"{percent / 100:.2f}")
        self.smoothing_changed.emit(percent / 100)

    @Slot()
    def _fit(self) -> None:
        for plot in self.plots:
            plot.fit()
