"""Charts: series of points on two axes, drawn by :mod:`guestlist.report.drawing`.

Charts are drawn as SVG when the page is made, and not by a library in the reader's browser. The pages need only lines, marks
and intervals. Plotly's smallest bundle with them has 1 MB, and the full one 4.8 MB: fifty times the size of a report that is
sent by mail. An SVG needs no script, follows the page's dark and print styles, and equal results give equal bytes. The page's
own script shows the values under the pointer, highlights one line among many and saves the points as CSV.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

Ends = tuple[float, float]
DASHES = {"solid": "", "dash": "6 4", "dot": "2 3", "dashdot": "7 3 2 3"}
# Paths around the origin. Series differ in shape as well as in colour, for readers who do not distinguish the colours.
MARKS = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "square": "M-4 -4h8v8h-8z",
    "diamond": "M0 -5l5 5-5 5-5-5z",
    "triangle-up": "M0 -5l5 9h-10z",
    "triangle-down": "M0 5l5-9h-10z",
    "cross": "M-5 -1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
    "star": "M0 -6l1.6 4.1 4.4.2-3.4 2.8 1.1 4.2-3.7-2.4-3.7 2.4 1.1-4.2-3.4-2.8 4.4-.2z",
}


@dataclass(frozen=True)
class Axis:
    """One axis.

    Args:
        title: Measured quantity, also the name of the values under the pointer and of the CSV column.
        ends: Range of the axis; points beyond are drawn at its end. By default the range of the points.
        log: True for a logarithmic axis.
        ticks: Positions of the ticks; by default round numbers.
        form: Format of the numbers.
        names: Names of categories; coordinates are then their positions from 0, on a vertical axis from the top.
    """

    title: str
    ends: Ends | None = None
    log: bool = False
    ticks: tuple[float, ...] = ()
    form: Literal["number", "percent"] = "number"
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Points that belong together: a line, marks, intervals, or some of these.

    Args:
        name: Name of the series.
        x: Horizontal coordinates.
        y: Vertical coordinates, one for each ``x``, or none if there are only intervals.
        colour: Variable of the page's style sheet, without its dashes.
        line: Width of the line, 0 for none.
        dash: Key of ``DASHES``.
        mark: Key of ``MARKS``, or empty.
        x_ends: Horizontal intervals, one per point.
        y_ends: Vertical intervals, one per point.
        bar: Width of the intervals.
        band: True to fill the area between the vertical intervals.
        step: True if a value holds until the next point.
        fill: True to fill the area below.
        offset: Shift to the right in points, where marks would hide each other.
        key: Text in the chart's key; by default the name. Empty for no entry.
        hover: True to show the values under the pointer.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...] = ()
    colour: str = "other"
    line: float = 0.0
    dash: str = "solid"
    mark: str = ""
    x_ends: tuple[Ends, ...] = ()
    y_ends: tuple[Ends, ...] = ()
    bar: float = 1.2
    band: bool = False
    step: bool = False
    fill: bool = False
    offset: float = 0.0
    key: str | None = None
    hover: bool = True

    def __post_init__(self):
        for name in ("y", "x_ends", "y_ends"):
            if getattr(self, name) and len(getattr(self, name)) != len(self.x):
                raise ValueError(f"Expected {name} of {self.name!r} to have {len(self.x)} figures, one for each of x.")

    @property
    def key_text(self) -> str:
        """Text in the chart's key."""
        return self.name if self.key is None else self.key


@dataclass(frozen=True)
class Chart:
    """Series on two axes.

    Args:
        x: Horizontal axis.
        y: Vertical axis.
        series: Series in the order of drawing.
        full_width: True to use the width of the page, False to be next to another chart.
        height: Height of the drawing in points.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    full_width: bool = False
    height: float = 340


def diagonal(name: str = "guessing") -> Series:
    """Return the diagonal, a dotted line from (0, 0) to (1, 1)."""
    return Series(name, (0.0, 1.0), (0.0, 1.0), "quiet", line=1.2, dash="dot", hover=False)


def interval_ends(estimates: Sequence) -> tuple[Ends, ...]:
    """Return the ends of the estimates' intervals."""
    return tuple((estimate.low, estimate.high) for estimate in estimates)


def json_number(value: float) -> float | None:
    """Round to six digits, beyond the resolution of a screen; None where JSON has no such number."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def chart_data(chart: Chart) -> dict:
    """Return a chart's points as JSON, for the values under the pointer and for CSV."""
    return {
        "x": _axis_data(chart.x),
        "y": _axis_data(chart.y),
        "series": [_series_data(series) for series in chart.series],
    }


def _axis_data(axis: Axis) -> dict:
    return {"title": axis.title, "form": axis.form, "names": list(axis.names)}


def _series_data(series: Series) -> dict:
    data: dict = {
        "name": series.name,
        "hover": series.hover,
        "line": series.line > 0,
        "step": series.step,
        "offset": series.offset,
        "x": [json_number(x) for x in series.x],
    }
    if series.y:
        data["y"] = [json_number(y) for y in series.y]
    for name in ("x_ends", "y_ends"):
        if getattr(series, name):
            data[name] = [[json_number(end) for end in ends] for ends in getattr(series, name)]
    return data


def axis_range(chart: Chart, which: Literal["x", "y"]) -> Ends:
    """Return the first and the last coordinate of an axis."""
    axis: Axis = getattr(chart, which)
    if axis.names:
        last = len(axis.names) - 0.5
        return (-0.5, last) if which == "x" else (last, -0.5)
    if axis.ends is not None:
        return axis.ends
    coordinates = chain.from_iterable(
        (*getattr(series, which), *chain.from_iterable(getattr(series, f"{which}_ends"))) for series in chart.series
    )
    drawable = [value for value in coordinates if math.isfinite(value) and not (axis.log and value <= 0)]
    if which == "y" and any(series.fill for series in chart.series):
        drawable.append(0.0)
    if not drawable:
        return (0.1, 1.0) if axis.log else (0.0, 1.0)
    low = min(drawable)
    high = max(drawable)
    if axis.log:
        return (low, high) if low < high else (low / 2, high * 2)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    if which == "y" and low == 0:
        return low, high + margin
    return low - margin, high + margin


def ticks(axis: Axis, ends: Ends) -> tuple[float, ...]:
    """Return the positions of the ticks of an axis.

    >>> ticks(Axis("share"), (0, 0.9))
    (0.0, 0.2, 0.4, 0.6, 0.8)
    """
    if axis.names:
        return tuple(map(float, range(len(axis.names))))
    if axis.ticks:
        return axis.ticks
    low = min(ends)
    high = max(ends)
    if axis.log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        return tuple(10.0**power for power in powers)
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(times for times in (1, 2, 2.5, 5, 10) if times * unit >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(float(f"{multiple * step:.12g}") for multiple in range(first, last + 1))


def tick_label(axis: Axis, value: float) -> str:
    """Return the label of a tick."""
    if axis.names:
        return axis.names[round(value)]
    return f"{100 * value:.4g}%" if axis.form == "percent" else f"{value:.4g}"
