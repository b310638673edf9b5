"""The points of the runs that a chart shows: taken from their histories when the chart is drawn, and only what is new."""

from dataclasses import dataclass

from app.widgets.plots.curve import CurveLook
from app.widgets.plots.plot import CurvePlot
from core.runs.history import RunHistory
from core.runs.quantities import (
    Axis,
    Quantity,
    best_point,
    expected_points,
    training_points,
    validation_points,
)

TRAINING, VALIDATION = "training", "validation"  # how the curves of the run in front are called
EXPECTED, AT_MOST = "expected", "expected at most"
EXPECTED_LOOK = CurveLook("plot_other", dashed=True, width=1.0, in_readout=False)


@dataclass(slots=True)
class _Shown:
    """A run in a chart: what it has measured, the names of its curves, and what was taken of it so far."""

    history: RunHistory
    training: str
    validation: str
    taken: tuple[Axis, int, int] | None = None  # the axis, and how often steps and evaluations were cut
    n_steps: int = 0
    n_evaluations: int = 0


class RunPoints:
    """Fills the plot of one quantity; the first run is the one in front, the others are compared with it."""

    def __init__(self, plot: CurvePlot, quantity: Quantity) -> None:
        self._plot, self._quantity = plot, quantity
        self._axis: Axis = "step"
        self._expects = False
        self._shown: dict[str, _Shown] = {}
        smooth = quantity.is_smoothed
        if quantity.of_steps is not None:
            plot.add_look(
                TRAINING, CurveLook("plot_training", smoothed=smooth), in_legend=quantity.name == "loss"
            )
        if quantity.evaluation:
            plot.add_look(VALIDATION, CurveLook("plot_validation"), in_legend=quantity.name == "loss")
        plot.fill_with(self.fill)

    def show_front(self, history: RunHistory) -> None:
        """Let this be the history of the run in front."""
        self._plot.mark_best(None)
        others = {name: shown for name, shown in self._shown.items() if name}
        self._shown = {"": _Shown(history, TRAINING, VALIDATION)} | others
        self._plot.expect_points(soon=True)

    def compare(self, name: str, history: RunHistory, colour: str, dashed: bool) -> None:
        """Draw another run: validation bold, training thin, both in its colour."""
        shown = _Shown(history, f"{TRAINING} of {name}", f"{VALIDATION} of {name}")
        has_validation = bool(self._quantity.evaluation)
        smooth = self._quantity.is_smoothed
        if self._quantity.of_steps is not None:
            width = 1.0 if has_validation else 1.6
            look = CurveLook(
                colour, smoothed=smooth, has_raw=False, dashed=dashed, width=width, in_readout=False
            )
            self._plot.add_look(shown.training, look)
        if has_validation:
            self._plot.add_look(shown.validation, CurveLook(colour, dashed=dashed, in_readout=False))
        self._shown[name] = shown
        self._plot.expect_points(soon=True)

    def compares(self, name: str) -> bool:
        """Whether a run is drawn in this chart."""
        return name in self._shown

    def leave_out(self, name: str) -> None:
        """Compare with this run no more."""
        shown = self._shown.pop(name)
        for curve in self._names(shown):
            self._plot.remove_curve(curve)

    def set_axis(self, axis: Axis) -> None:
        """Let the x axis count something else."""
        self._axis = axis
        self._plot.expect_points(soon=True)

    def value_near(self, name: str, x: float) -> float | None:
        """What a compared run shows nearest to `x`: on validation text where that was measured."""
        values = [self._plot.value_near(curve, x) for curve in reversed(self._names(self._shown[name]))]
        return next((value for value in values if value is not None), None)

    def fill(self) -> None:
        """Add to the plot what the histories have more than when it was filled last."""
        for shown in self._shown.values():
            state = (self._axis, shown.history.steps.n_cuts, shown.history.evaluations.n_cuts)
            if state != shown.taken:
                for name in self._names(shown):
                    self._plot.show_points(name, [], [])
                shown.taken, shown.n_steps, shown.n_evaluations = state, 0, 0
            self._take(shown)

    def _take(self, shown: _Shown) -> None:
        history = shown.history
        if shown.n_steps < len(history.steps):
            if self._quantity.of_steps is not None:
                points = training_points(history, self._quantity, self._axis, shown.n_steps)
                self._plot.extend(shown.training, *points)
            shown.n_steps = len(history.steps)
        if shown.n_evaluations < len(history.evaluations) and self._quantity.evaluation:
            shown.n_evaluations = len(history.evaluations)
            points = validation_points(history, self._quantity, self._axis)
            self._plot.show_points(shown.validation, *points)
        if shown.training == TRAINING:
            self._expect(history)
            self._plot.mark_best(best_point(history, self._quantity, self._axis))

    def _expect(self, history: RunHistory) -> None:
        """Draw between what the validation curve was expected to lie."""
        x, low, high = expected_points(history, self._quantity, self._axis)
        if self._expects != bool(len(x)):
            self._expects = bool(len(x))
            for name in (EXPECTED, AT_MOST):
                if self._expects:
                    shown_in_legend = name == EXPECTED and self._quantity.name == "loss"
                    self._plot.add_look(name, EXPECTED_LOOK, in_legend=shown_in_legend)
                else:
                    self._plot.remove_curve(name)
        if self._expects:
            self._plot.show_points(EXPECTED, x, low)
            self._plot.show_points(AT_MOST, x, high)

    def _names(self, shown: _Shown) -> list[str]:
        """The curves of a run."""
        training = [shown.training] if self._quantity.of_steps is not None else []
        return [*training, shown.validation] if self._quantity.evaluation else training
