"""What a chart shows: figures on two axes, for :mod:`guestlist.report.drawing` to draw.

Charts are drawn as SVG where the page is made, and not by a library in the reader's browser. All that the pages draw is
lines, marks and intervals; plotly's smallest bundle that has them is 1 MB and its whole 4.8 MB, fifty times what the page
has to say, to be mailed with every report. Drawn here, charts are there without a script, follow the page to dark and to
paper by its style alone, and equal results give equal bytes. What was worth having of a library, the figures under the
pointer and a line that stands out among many, is a part of the page's own script; zooming is not: the figures can be saved
as CSV.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

Ends = tuple[float, float]
DASHES = {"solid": "", "dash": "6 4", "dot": "2 3", "dashdot": "7 3 2 3"}
# Drawn around 0 0. Series are told apart by shape as well as by colour.
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
        title: what it measures, with which the figures under the pointer and the columns of the CSV are named.
        ends: of what is drawn; figures beyond stand at the end. By default what the figures take.
        ticks: by default round numbers.
        form: how its numbers are written.
        names: where it has names and no numbers; figures are then their places, from 0, on an upright axis from the top.
    """

    title: str
    ends: Ends | None = None
    log: bool = False
    ticks: tuple[float, ...] = ()
    form: Literal["number", "percent"] = "number"
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Figures that belong together: a line, marks, intervals, or some of these.

    Args:
        y: as many as ``x``, or none where there are intervals alone.
        colour: a variable of the page's style, without its dashes.
        line: how wide, 0 for none; ``dash`` of ``DASHES``.
        mark: of ``MARKS``, or none.
        x_ends, y_ends: intervals, one per point, ``bar`` wide; ``band`` fills what lies between those of ``y``.
        step: whether a figure holds until the next.
        fill: whether the space below is filled.
        beside: points by which it is drawn further right, where marks would hide each other.
        key: what the key says; by default the name, and nothing where it is empty.
        told: whether its figures are shown under the pointer.
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
    beside: float = 0.0
    key: str | None = None
    told: bool = True

    def __post_init__(self):
        for name in ("y", "x_ends", "y_ends"):
            if getattr(self, name) and len(getattr(self, name)) != len(self.x):
                raise ValueError(f"Expected {name} of {self.name!r} to have {len(self.x)} figures, one for each of x.")

    @property
    def keyed(self) -> str:
        return self.name if self.key is None else self.key


@dataclass(frozen=True)
class Chart:
    """Series on two axes.

    Args:
        whole: whether it stands alone over the width of the page, or beside another.
        height: of the drawing, in points.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    whole: bool = False
    height: float = 340


def diagonal(name: str = "guessing") -> Series:
    """The diagonal."""
    return Series(name, (0.0, 1.0), (0.0, 1.0), "quiet", line=1.2, dash="dot", told=False)


def interval_ends(estimates: Sequence) -> tuple[Ends, ...]:
    """The ends of estimates' intervals."""
    return tuple((estimate.low, estimate.high) for estimate in estimates)


def six_digits(value: float) -> float | None:
    """A number to six digits, which no screen resolves further; null where JSON has none."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def chart_data(chart: Chart) -> dict:
    """What a chart shows as JSON, for the figures under the pointer and for CSV."""
    return {
        "x": _axis(chart.x),
        "y": _axis(chart.y),
        "series": [_figures(series) for series in chart.series],
    }


def _axis(axis: Axis) -> dict:
    return {"title": axis.title, "form": axis.form, "names": list(axis.names)}


def _figures(series: Series) -> dict:
    look = {"told": series.told, "line": series.line > 0, "step": series.step, "beside": series.beside}
    found: dict = {"name": series.name, **look, "x": [six_digits(x) for x in series.x]}
    if series.y:
        found["y"] = [six_digits(y) for y in series.y]
    for name in ("x_ends", "y_ends"):
        if getattr(series, name):
            found[name] = [[six_digits(end) for end in ends] for ends in getattr(series, name)]
    return found


def axis_range(chart: Chart, which: Literal["x", "y"]) -> Ends:
    """From where to where an axis goes."""
    axis: Axis = getattr(chart, which)
    if axis.names:
        ends = (-0.5, len(axis.names) - 0.5)
        return ends if which == "x" else (ends[1], ends[0])
    if axis.ends is not None:
        return axis.ends
    every = chain.from_iterable(
        (*getattr(series, which), *chain.from_iterable(getattr(series, f"{which}_ends"))) for series in chart.series
    )
    known = [value for value in every if math.isfinite(value) and not (axis.log and value <= 0)]
    if which == "y" and any(series.fill for series in chart.series):
        known.append(0.0)
    if not known:
        return (0.1, 1.0) if axis.log else (0.0, 1.0)
    low, high = min(known), max(known)
    if axis.log:
        return (low, high) if low < high else (low / 2, high * 2)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    bottom = low if which == "y" and low == 0 else low - room
    return bottom, high + room


def ticks(axis: Axis, ends: Ends) -> tuple[float, ...]:
    """Where an axis has numbers.

    >>> ticks(Axis("share"), (0, 0.9))
    (0.0, 0.2, 0.4, 0.6, 0.8)
    """
    if axis.names:
        return tuple(float(place) for place in range(len(axis.names)))
    if axis.ticks:
        return axis.ticks
    low, high = min(ends), max(ends)
    if axis.log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        return tuple(10.0**power for power in powers)
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(times for times in (1, 2, 2.5, 5, 10) if times * unit >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{place * step:.12g}") for place in range(first, last + 1))


def tick_label(axis: Axis, value: float) -> str:
    """A number on an axis."""
    if axis.names:
        return axis.names[round(value)]
    return f"{100 * value:.4g}%" if axis.form == "percent" else f"{value:.4g}"
