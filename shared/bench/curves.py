"""Curves of cost against size, as SVG on two logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 50, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
Points = Sequence[tuple[float, float]]


def svg(title: str, lines: Mapping[str, Points], *, x_label: str, y_label: str = "milliseconds") -> str:
    """Return a drawing.

    Args:
        title: Stands above it.
        lines: For each name its points (x, y), all above zero, ascending by x; at least one point.
        x_label: What x counts.
        y_label: What y counts.
    """
    points = [point for line in lines.values() for point in line]
    across, up = _Axis([x for x, _ in points]), _Axis([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + across.share(x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up.share(y) * (HEIGHT - TOP - BOTTOM),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12" fill="#333">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="28" font-size="16">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
    ]
    for mark in across.marks():
        x, _ = place(mark, up.low)
        parts += [
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>',
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{mark:,.4g}</text>'.replace(
                "1e+06", "1,000,000"
            ),
        ]
    for mark in up.marks():
        _, y = place(across.low, mark)
        parts += [
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>',
        ]
    for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
        placed = [place(*point) for point in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in placed]
        x, y = placed[-1]
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Axis:
    """A logarithmic axis from one power of ten to another."""

    def __init__(self, values: Sequence[float]) -> None:
        self._first = math.floor(math.log10(min(values)))
        self._last = max(self._first + 1, math.ceil(math.log10(max(values))))
        self.low = 10.0**self._first

    def share(self, value: float) -> float:
        return (math.log10(value) - self._first) / (self._last - self._first)

    def marks(self) -> list[float]:
        return [10.0**power for power in range(self._first, self._last + 1)]
