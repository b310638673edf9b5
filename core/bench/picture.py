"""Curves drawn as SVG, for benchmarks: no library that draws is needed where the window is not installed."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

Curve = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 380, 280  # of one part
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 42
COLOURS = ("#6b7280", "#2563eb", "#b45309", "#047857")
TICKS = 5


class _Axis(NamedTuple):
    lowest: float
    highest: float
    first_pixel: float
    last_pixel: float

    def at(self, value: float) -> float:
        share = (value - self.lowest) / (self.highest - self.lowest)
        return self.first_pixel + share * (self.last_pixel - self.first_pixel)


def draw_curves(title: str, parts: dict[str, dict[str, Curve]]) -> str:
    """One diagram beside the other, each with the same curves over another axis; the loss is on the upright one.

    Args:
        parts: By the name of the axis, the curves by their names: points of a value on it and a loss.
    """
    width = WIDTH * len(parts)
    body = "".join(
        f'<g transform="translate({number * WIDTH} 24)">{"".join(_diagram(axis, curves))}</g>'
        for number, (axis, curves) in enumerate(parts.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + 24}" '
        f'viewBox="0 0 {width} {HEIGHT + 24}" font-family="sans-serif" font-size="11">'
        f'<rect width="{width}" height="{HEIGHT + 24}" fill="white"/>'
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>{body}</svg>\n'
    )


def _diagram(axis: str, curves: dict[str, Curve]) -> Iterator[str]:
    points = [point for curve in curves.values() for point in curve]
    across = _Axis(0, max(x for x, _ in points) or 1, LEFT, WIDTH - RIGHT)
    losses = [loss for _, loss in points]
    up = _Axis(min(losses), max(*losses, min(losses) + 1e-9), HEIGHT - BOTTOM, TOP)
    yield from _ticks(across, up)
    yield f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(axis)}</text>'
    yield f'<text x="{LEFT}" y="{TOP - 10}">validation loss, nats per character</text>'
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{across.at(x):.1f},{up.at(loss):.1f}" for x, loss in curve)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
        y = TOP + 14 + 16 * number
        yield f'<text x="{WIDTH - RIGHT - 4}" y="{y}" text-anchor="end" fill="{colour}">{escape(name)}</text>'


def _ticks(across: _Axis, up: _Axis) -> Iterator[str]:
    for value in round_values(across.lowest, across.highest):
        x = across.at(value)
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e5e7eb"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{_short(value)}</text>'
    for value in round_values(up.lowest, up.highest):
        y = up.at(value)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e5e7eb"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(value)}</text>'


def round_values(lowest: float, highest: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two values, about five of them."""
    rough = (highest - lowest) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = math.ceil(lowest / step), math.floor(highest / step)
    return [number * step for number in range(first, last + 1)]


def _short(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g} M"
    return f"{value / 1000:g} k" if value >= 10_000 else f"{value:.6g}"
