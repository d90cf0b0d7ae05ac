"""Small figures as SVG text: lines, dots and histograms on plain axes. Equal numbers give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 360, 260, 52, 44, 28, 12
# Told apart by people who see few colours, and by the dashes by those who see none.
STYLES = (("#0b5fa5", ""), ("#c2410c", "6 3"), ("#15803d", "2 2"), ("#7c3aed", "8 2 2 2"), ("#525252", "1 3"))


@dataclass(frozen=True)
class Axes:
    """The ranges that a panel shows; ``log`` takes both on a logarithmic scale."""

    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    x_label: str = ""
    y_label: str = ""
    log: bool = False

    def place(self, x: float, y: float) -> tuple[float, float]:
        across, up = (_share(value, *ends, self.log) for value, ends in ((x, self.x), (y, self.y)))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)


def lines(
    title: str, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], axes: Axes, *, upper_left: bool = False
) -> str:
    """A panel with one line per name, and a legend: at the lower right, where no ROC curve worth drawing goes, or upper left."""
    parts = _frame(title, axes)
    for index, (name, (x, y)) in enumerate(curves.items()):
        colour, dash = STYLES[index % len(STYLES)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in (axes.place(*point) for point in zip(x, y, strict=True)))
        style = f'fill="none" stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{points}" {style}/>')
        high, left = HEIGHT - BOTTOM - 14 * (len(curves) - index), WIDTH - RIGHT - 80
        if upper_left:
            high, left = TOP + 14 * (index + 1), LEFT + 8
        parts.append(f'<line x1="{left}" x2="{left + 22}" y1="{high}" y2="{high}" {style}/>')
        parts.append(_text(left + 28, high + 4, name, "start"))
    return _panel(parts)


def scatter(title: str, x: np.ndarray, y: np.ndarray, axes: Axes) -> str:
    """A panel with a dot per record and the diagonal; what lies beyond the axes stands on their ends."""
    parts = _frame(title, axes)
    ends = max(axes.x[0], axes.y[0]), min(axes.x[1], axes.y[1])
    (x0, y0), (x1, y1) = (axes.place(end, end) for end in ends)
    parts.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="#94a3b8"/>')
    # One path of strokes without length: a few bytes per dot.
    dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in (axes.place(*point) for point in zip(x, y, strict=True)))
    style = f'stroke="{STYLES[0][0]}" stroke-opacity="0.45" stroke-width="3" stroke-linecap="round"'
    parts.append(f'<path d="{dots}" {style}/>')
    return _panel(parts)


def clouds(
    title: str,
    groups: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    axes: Axes,
    names: Sequence[tuple[float, float, str]] = (),
) -> str:
    """A panel with dots in a colour per group, a legend above, and ``names`` written where they say (x, y, name)."""
    parts = _frame(title, axes)
    for index, (name, (x, y)) in enumerate(groups.items()):
        colour, left = STYLES[index % len(STYLES)][0], LEFT + 8 + 120 * index
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in (axes.place(*point) for point in zip(x, y, strict=True)))
        style = f'stroke="{colour}" stroke-opacity="0.55" stroke-width="4" stroke-linecap="round"'
        parts += [f'<path d="{dots}" {style}/>', f'<path d="M{left} {TOP + 9}h0" {style}/>']
        parts.append(_text(left + 7, TOP + 13, name, "start"))
    for x, y, name in names:
        across, up = axes.place(x, y)
        parts.append(_text(across, up, name, "middle"))
    return _panel(parts)


def histogram(title: str, values: np.ndarray, marks: Mapping[str, float], axes: Axes, *, bins: int = 24) -> str:
    """A panel with shares per bin and vertical marks; what lies beyond the axes is counted in the end bins."""
    parts = _frame(title, axes)
    edges = np.linspace(*axes.x, bins + 1)
    shares = np.histogram(np.clip(values, *axes.x), edges)[0] / max(len(values), 1)
    for share, left, right in zip(shares, edges[:-1], edges[1:], strict=True):
        (x0, y0), (x1, y1) = axes.place(left, 0), axes.place(right, min(share, axes.y[1]))
        box = f'x="{x0:.1f}" y="{y1:.1f}" width="{x1 - x0:.1f}" height="{y0 - y1:.1f}"'
        parts.append(f'<rect {box} fill="#cbd5e1" stroke="#64748b" stroke-width="0.5"/>')
    for index, (name, value) in enumerate(marks.items()):
        colour, dash = STYLES[index % len(STYLES)]
        x, _ = axes.place(float(np.clip(value, *axes.x)), 0)
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"'
        parts.append(f'<line {ends} stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}"/>')
        parts.append(_text(x + 4, TOP + 14 * (index + 1), f"{name} {value:.3g}", "start"))
    return _panel(parts)


def grid(panels: Sequence[Sequence[str]]) -> str:
    """A whole figure of rows of panels."""
    columns = max(len(row) for row in panels)
    placed = [
        f'<g transform="translate({column * WIDTH},{row * HEIGHT})">{panel}</g>'
        for row, parts in enumerate(panels)
        for column, panel in enumerate(parts)
    ]
    size = f'width="{columns * WIDTH}" height="{len(panels) * HEIGHT}"'
    box = f'viewBox="0 0 {columns * WIDTH} {len(panels) * HEIGHT}"'
    style = '<style>text{font:11px sans-serif;fill:#1f2937}</style><rect width="100%" height="100%" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>{style}{"".join(placed)}</svg>\n'


def _share(value: float, low: float, high: float, log: bool) -> float:
    if log:
        low, high, value = np.log(low), np.log(high), np.log(max(value, low))
    return float(np.clip((value - low) / (high - low), 0, 1))


def _frame(title: str, axes: Axes) -> list[str]:
    parts = [_text((LEFT + WIDTH) / 2, 16, title, "middle")]
    parts.append(
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - BOTTOM - TOP}" '
        'fill="none" stroke="#94a3b8"/>'
    )
    for value in _ticks(axes.x, axes.log):
        x, y = axes.place(value, axes.y[0])
        parts.append(_text(x, y + 14, f"{value:.3g}", "middle"))
    for value in _ticks(axes.y, axes.log):
        x, y = axes.place(axes.x[0], value)
        parts.append(_text(x - 5, y + 4, f"{value:.3g}", "end"))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 12, axes.x_label, "middle"))
    high = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<g transform="rotate(-90 12 {high})">{_text(12, high, axes.y_label, "middle")}</g>')
    return parts


def _ticks(ends: tuple[float, float], log: bool) -> list[float]:
    if log:
        return [10.0**power for power in range(round(np.log10(ends[0])), round(np.log10(ends[1])) + 1)]
    return list(np.linspace(*ends, 5))


def _text(x: float, y: float, content: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def _panel(parts: list[str]) -> str:
    return "".join(parts)
