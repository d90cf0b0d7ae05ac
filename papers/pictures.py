"""Pictures of the papers' pages as SVG text, in one style. Equal numbers give equal bytes.

Our results have solid lines and filled markers. Published results have dashed lines and open markers. The legend is
above the panels, ticks are round numbers, and intervals are bands. Lines differ in lightness, dashes and markers, so a
picture can be read in greyscale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

WIDTH = 720  # width of a picture, in pixels
HEIGHT = 230  # height of a panel
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 24, 44  # margins of a panel
LINE = 16  # height of a line of the legend
CHARACTER = 6.1  # mean width of a character, in pixels
COLOURS = ("#12355b", "#c8553d", "#4fa3a0", "#7b3f98", "#d9a826", "#bfc4ca")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "circle")
PUBLISHED_DASH = "5 3"
Style = Literal["line", "curve", "points", "dots"]


@dataclass(frozen=True)
class Series:
    """Values with one entry in the legend.

    Args:
        name: entry in the legend.
        low, high: ends of an interval for each value, drawn as a band.
        paper: whether these are published results.
        like: name of the series whose colour this one shares; by default its own.
        style: "line" (with markers), "curve" (without markers), "points" (markers only) or "dots" (small, translucent).
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    paper: bool = False
    like: str = ""
    style: Style = "line"


def published(
    name: str,
    x: Sequence[float],
    y: Sequence[float | None],
    *,
    like: str = "",
    shift: float = 0.0,
    style: Style = "points",
) -> Series:
    """Return published values, moved along the x axis so that they do not cover ours."""
    return Series(name, [value + shift for value in x], y, paper=True, like=like, style=style)


@dataclass(frozen=True)
class Axes:
    """Ranges and labels of a panel. Ranges that are not given end at round ticks around the data.

    Args:
        names: labels of the positions 0, 1, … of a categorical x axis.
        ticks: (position, label) pairs of the x axis instead of round numbers.
    """

    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False
    names: Sequence[str] = ()
    ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class Panel:
    """Series on one pair of axes; ``notes`` are texts at (x, y)."""

    title: str
    series: Sequence[Series]
    axes: Axes = field(default_factory=Axes)
    notes: Sequence[tuple[float, float, str]] = ()


def picture(rows: Sequence[Sequence[Panel]], description: str) -> str:
    """Return a whole picture: the legend, then rows of panels.

    Args:
        description: text for readers who cannot see the picture.
    """
    every = {series.name: series for row in rows for panel in row for series in panel.series}
    looks = _looks(every.values())
    legend, height = _legend(every.values(), looks)
    parts = [legend]
    for row in rows:
        width = WIDTH / len(row)
        for column, panel in enumerate(row):
            drawn = "".join(_panel(panel, looks, width))
            parts.append(f'<g transform="translate({_number(column * width)},{height})">{drawn}</g>')
        height += HEIGHT
    style = '<style>text{font:11px sans-serif;fill:#1f2937}</style><rect width="100%" height="100%" fill="white"/>'
    head = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img"'
    title = f"<title>{escape(description)}</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head}>{title}{style}{"".join(parts)}</svg>\n'


def steps(edges: Sequence[float], shares: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the outline of a histogram as x and y of a curve."""
    x = [edge for edge in edges for _ in range(2)][1:-1]
    return x, [share for share in shares for _ in range(2)]


def round_ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Return at most ``most`` multiples of 1, 2 or 5 times a power of ten within a range."""
    rough = (high - low) / (max_ticks - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


@dataclass(frozen=True)
class _Look:
    colour: str
    marker: str
    dash: str


def _looks(series: Iterable[Series]) -> dict[str, _Look]:
    """Return colour, marker and dashes by name; published results share the colour of ours and are dashed."""
    order: dict[str, int] = {}
    looks = {}
    for entry in series:
        index = order.setdefault(entry.like or entry.name, len(order))
        if index == len(COLOURS):
            raise ValueError(f"A picture has at most {len(COLOURS)} colours. Split it, or let series share one.")
        dash = PUBLISHED_DASH if entry.paper else ""
        looks[entry.name] = _Look(COLOURS[index], MARKERS[index], dash)
    return looks


def _legend(series: Iterable[Series], looks: Mapping[str, _Look]) -> tuple[str, int]:
    """Return the legend and its height; entries wrap at the width of the picture."""
    parts = []
    x, line = 12.0, 0
    for entry in series:
        needed = 36 + CHARACTER * len(entry.name)
        if x + needed > WIDTH and x > 12:
            x, line = 12.0, line + 1
        y = 12 + LINE * line
        sample = Series(entry.name, (0, 1), (0, 0), paper=entry.paper, style=entry.style)
        ends = [(x + 11, y)] if entry.style in ("points", "dots") else [(x, y), (x + 22, y)]
        parts += _drawn(sample, looks[entry.name], ends)
        parts.append(_text(x + 28, y + 4, entry.name, "start"))
        x += needed + 8
    return "".join(parts), LINE * (line + 1) + 8


def _panel(panel: Panel, looks: Mapping[str, _Look], width: float) -> list[str]:
    axes = panel.axes
    x_range, x_ticks = _x_axis(panel)
    y_range, y_ticks = _y_axis(panel)

    def to_pixels(x: float, y: float) -> tuple[float, float]:
        across = _share(x, x_range, axes.log_x)
        up = _share(y, y_range, axes.log_y)
        return LEFT + across * (width - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    right, bottom = to_pixels(x_range[1], y_range[0])
    parts = [_text((LEFT + right) / 2, 15, panel.title, "middle")]
    for value, label in y_ticks:
        y = to_pixels(x_range[0], value)[1]
        parts.append(f'<line x1="{LEFT}" x2="{_number(right)}" y1="{_number(y)}" y2="{_number(y)}" stroke="#e5e7eb"/>')
        parts.append(_text(LEFT - 5, y + 4, label, "end"))
    for value, label in x_ticks:
        parts.append(_text(to_pixels(value, y_range[0])[0], bottom + 14, label, "middle"))
    frame = f'width="{_number(right - LEFT)}" height="{HEIGHT - BOTTOM - TOP}" fill="none" stroke="#94a3b8"'
    parts.append(f'<rect x="{LEFT}" y="{TOP}" {frame}/>')
    parts.append(_text((LEFT + right) / 2, HEIGHT - 12, axes.x_label, "middle"))
    middle = (TOP + bottom) / 2
    label = _text(12, middle, axes.y_label, "middle")
    parts.append(f'<g transform="rotate(-90 12 {_number(middle)})">{label}</g>')
    for series in panel.series:
        look = looks[series.name]
        if series.low is not None and series.high is not None:
            parts += _band(series, look, to_pixels)
        points = [to_pixels(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        parts += _drawn(series, look, points)
    parts += [_text(*to_pixels(x, y), note, "middle") for x, y, note in panel.notes]
    return parts


def _x_axis(panel: Panel) -> tuple[tuple[float, float], list[tuple[float, str]]]:
    axes = panel.axes
    if axes.names:
        return (-0.5, len(axes.names) - 0.5), list(enumerate(axes.names))
    values = [x for series in panel.series for x in series.x]
    ends = axes.x or _round_range(values, axes.log_x)
    return ends, list(axes.ticks) or _labelled(ends, axes.log_x)


def _y_axis(panel: Panel) -> tuple[tuple[float, float], list[tuple[float, str]]]:
    axes = panel.axes
    values = [
        y
        for series in panel.series
        for part in (series.y, series.low or (), series.high or ())
        for y in part
        if y is not None
    ]
    ends = axes.y or _round_range(values, axes.log_y)
    return ends, _labelled(ends, axes.log_y)


def _round_range(values: Sequence[float], log: bool) -> tuple[float, float]:
    """Return ends at round ticks around the values."""
    low, high = min(values), max(values)
    if log:
        return 10.0 ** math.floor(math.log10(low) + 1e-9), 10.0 ** math.ceil(math.log10(high) - 1e-9)
    if low == high:
        low, high = low - 0.5, high + 0.5
    ticks = round_ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return round(math.floor(low / step + 1e-9) * step, 10), round(math.ceil(high / step - 1e-9) * step, 10)


def _labelled(ends: tuple[float, float], log: bool) -> list[tuple[float, str]]:
    if log:
        powers = range(math.ceil(math.log10(ends[0]) - 1e-9), math.floor(math.log10(ends[1]) + 1e-9) + 1)
        return [(10.0**power, f"{10.0**power:g}") for power in powers]
    return [(value, f"{value:g}") for value in round_ticks(*ends)]


def _share(value: float, ends: tuple[float, float], log: bool) -> float:
    low, high = ends
    if log:
        low, high, value = math.log(low), math.log(high), math.log(max(value, low))
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _band(series: Series, look: _Look, to_pixels) -> list[str]:
    """Return the interval of each value: one polygon along a line, a bar at each of separate points."""
    ends = [
        (to_pixels(x, low), to_pixels(x, high))
        for x, low, high in zip(series.x, series.low or (), series.high or (), strict=True)
    ]
    if series.style in ("line", "curve"):
        corners = [low for low, _ in ends] + [high for _, high in reversed(ends)]
        return [f'<polygon points="{_points(corners)}" fill="{look.colour}" fill-opacity="0.18"/>']
    style = f'stroke="{look.colour}" stroke-opacity="0.35" stroke-width="5"'
    return [
        f'<line x1="{_number(x)}" x2="{_number(x)}" y1="{_number(low)}" y2="{_number(high)}" {style}/>'
        for (x, low), (_, high) in ends
    ]


def _drawn(series: Series, look: _Look, points: Sequence[tuple[float, float]]) -> list[str]:
    if series.style == "dots":
        # One path of strokes without length takes a few bytes per dot.
        dots = "".join(f"M{_number(x)} {_number(y)}h0" for x, y in points)
        style = f'stroke="{look.colour}" stroke-opacity="0.45" stroke-width="3.4" stroke-linecap="round"'
        return [f'<path d="{dots}" {style}/>']
    parts = []
    if series.style in ("line", "curve"):
        dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
        style = f'fill="none" stroke="{look.colour}" stroke-width="1.7"{dash}'
        parts.append(f'<polyline points="{_points(points)}" {style}/>')
    if series.style in ("line", "points"):
        fill = "white" if series.paper else look.colour
        style = f'fill="{fill}" stroke="{look.colour}" stroke-width="1.3"'
        parts += [_marker(look.marker, x, y, style) for x, y in points]
    return parts


def _marker(kind: str, x: float, y: float, style: str) -> str:
    if kind == "circle":
        return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="3.2" {style}/>'
    if kind == "square":
        return f'<rect x="{_number(x - 2.9)}" y="{_number(y - 2.9)}" width="5.8" height="5.8" {style}/>'
    corners = {
        "triangle": ((0, -3.8), (3.6, 2.8), (-3.6, 2.8)),
        "diamond": ((0, -4.2), (3.6, 0), (0, 4.2), (-3.6, 0)),
        "cross": ((-3, -1), (-1, -1), (-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1)),
    }[kind]  # fmt: skip
    return f'<polygon points="{_points([(x + dx, y + dy) for dx, dy in corners])}" {style}/>'


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, content: str, anchor: str) -> str:
    if not content:
        return ""
    return f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}">{escape(content)}</text>'
