"""Charts as data, and their SVG drawings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

import numpy as np
from markupsafe import Markup

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
                raise ValueError(f"Expected {name} of {self.name!r} to have {len(self.x)} numbers, one for each x.")

    @property
    def key_text(self) -> str:
        """Text in the chart's key."""
        if self.key is None:
            return self.name
        return self.key


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
    """Return the diagonal, a dotted line from (0, 0) to (1, 1), with points for logarithmic axes."""
    points = (0.0, *np.geomspace(1e-6, 1.0, 121).tolist())
    return Series(name, points, points, "quiet", line=1.2, dash="dot", hover=False)


def interval_ends(estimates: Sequence) -> tuple[Ends, ...]:
    """Return the ends of the estimates' intervals."""
    return tuple((estimate.low, estimate.high) for estimate in estimates)


def json_number(value: float) -> float | None:
    """Round to six digits, beyond the resolution of a screen; None where JSON has no such number."""
    if not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def chart_data(chart: Chart) -> dict:
    """Return a chart's points as JSON, for the values under the pointer and for CSV."""
    return {
        **{
            name: {"title": axis.title, "form": axis.form, "names": list(axis.names)}
            for name, axis in {"x": chart.x, "y": chart.y}.items()
        },
        "series": [_series_data(series) for series in chart.series],
    }


def _series_data(series: Series) -> dict:
    data: dict = {
        "name": series.name,
        "hover": series.hover,
        "line": series.line > 0,
        "step": series.step,
        "offset": series.offset,
        "x": list(map(json_number, series.x)),
        "y": list(map(json_number, series.y)),
        "x_ends": [list(map(json_number, ends)) for ends in series.x_ends],
        "y_ends": [list(map(json_number, ends)) for ends in series.y_ends],
    }
    return {name: value for name, value in data.items() if value != [] or name == "x"}


def axis_range(chart: Chart, which: Literal["x", "y"]) -> Ends:
    """Return the first and the last coordinate of an axis."""
    axis: Axis = getattr(chart, which)
    if axis.names:
        last = len(axis.names) - 0.5
        return {"x": (-0.5, last), "y": (last, -0.5)}[which]
    if axis.ends is not None:
        return axis.ends
    coordinates = chain.from_iterable(
        (*getattr(series, which), *chain.from_iterable(getattr(series, f"{which}_ends"))) for series in chart.series
    )
    drawable = [value for value in coordinates if math.isfinite(value) and not (axis.log and value <= 0)]
    if which == "y" and any(series.fill for series in chart.series):
        drawable.append(0.0)
    if not drawable:
        return (0.1 if axis.log else 0.0, 1.0)
    low = min(drawable)
    high = max(drawable)
    if axis.log and low < high:
        return low, high
    if axis.log:
        return low / 2, high * 2
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
    low = min(ends)
    high = max(ends)
    if axis.ticks:
        return tuple(tick for tick in axis.ticks if low <= tick <= high)
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
    if axis.form == "percent":
        return f"{100 * value:.4g}%"
    return f"{value:.4g}"


WIDE = 700.0
NARROW = 420.0
LETTER = 6.4  # approximate width of a letter
CAP = 3  # half the width of the caps of a thin interval
Points = list[tuple[float, float]]


def draw_chart(chart: Chart) -> Markup:
    """Draw a chart as SVG, at two widths if it is a full-width chart."""
    if not chart.full_width:
        return _drawing(Canvas(chart, NARROW), "")
    return _drawing(Canvas(chart, WIDE), "wide-drawing") + _drawing(Canvas(chart, NARROW), "narrow-drawing")


def swatch(series: Series) -> Markup:
    """Draw a sample of a series for the chart's key."""
    parts = []
    if series.band or series.fill:
        parts.append(_area("M0 1h32v10h-32z", series))
    if series.line or series.band:  # a band surrounds a line
        parts.append(_stroke("M0 6h32", series.colour, series.line or 2.6, series.dash))
    if series.mark:
        parts.append(_mark(series, 16, 6))
    return Markup('<svg viewBox="0 0 32 12" aria-hidden="true">{}</svg>').format(Markup().join(parts))


@dataclass(frozen=True)
class Canvas:
    """Mapping from coordinates of a chart to points of a drawing of a given width."""

    chart: Chart
    width: float

    @cached_property
    def x(self) -> Ends:
        return axis_range(self.chart, "x")

    @cached_property
    def y(self) -> Ends:
        return axis_range(self.chart, "y")

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the area within the axes."""
        labels = [tick_label(self.chart.y, tick) for tick in ticks(self.chart.y, self.y)]
        longest = min(max(map(len, labels), default=0), self.max_letters)
        x = longest * LETTER + (34 if self.chart.y.title else 14)
        return x, 12, self.width - x - 20, self.chart.height - 12 - 48

    @property
    def max_letters(self) -> int:
        """Number of letters of a tick of the vertical axis; longer texts are shortened."""
        return int(0.4 * self.width / LETTER)

    def across(self, value: float) -> float:
        start, _, width, _ = self.box
        return start + width * _share(value, self.x, self.chart.x.log)

    def up(self, y: float) -> float:
        _, top, _, height = self.box
        return top + height * (1 - _share(y, self.y, self.chart.y.log))


def _share(value: float, ends: Ends, log: bool) -> float:
    """Return the position of a value between the ends, from 0 to 1; values beyond are clipped."""
    low, high = ends
    value = min(max(value, min(ends)), max(ends))
    if log:
        low, high, value = map(math.log, (low, high, value))
    return (value - low) / (high - low)


def _drawing(canvas: Canvas, css_class: str) -> Markup:
    parts = [*_grid(canvas), *(_series(canvas, series, i) for i, series in enumerate(canvas.chart.series))]
    box = " ".join(f"{value:g}" for value in canvas.box)
    scales = " ".join(f"{value:.10g}" for value in (*canvas.x, canvas.chart.x.log, *canvas.y, canvas.chart.y.log))
    return Markup(
        '<svg class="drawing {}" viewBox="0 0 {} {}" data-box="{}" data-scales="{}" aria-hidden="true">{}</svg>'
    ).format(css_class, f"{canvas.width:g}", f"{canvas.chart.height:g}", box, scales, Markup().join(parts))


def _grid(canvas: Canvas) -> list[Markup]:
    """Draw the axes with their ticks, numbers and titles."""
    chart = canvas.chart
    start, top, width, height = canvas.box
    right = start + width
    bottom = top + height
    x_ticks = ticks(chart.x, canvas.x)
    y_ticks = ticks(chart.y, canvas.y)
    lines = "".join(f"M{canvas.across(x):.1f} {top}V{bottom:.1f}" for x in x_ticks if not chart.x.names)
    lines += "".join(f"M{start:.1f} {canvas.up(y):.1f}H{right:.1f}" for y in y_ticks)
    parts = [_stroke(lines, "grid", 1), _stroke(f"M{start:.1f} {top}V{bottom:.1f}H{right:.1f}", "rule", 1)]
    parts += [_text(canvas.across(x), bottom + 17, tick_label(chart.x, x), "middle") for x in x_ticks]
    parts += [_text(start - 7, canvas.up(y) + 4, tick_label(chart.y, y), "end", canvas.max_letters) for y in y_ticks]
    parts.append(_text(start + width / 2, bottom + 39, chart.x.title, "middle"))
    if chart.y.title:
        rotated = Markup('<g transform="rotate(-90 13 {})">{}</g>')
        middle = top + height / 2
        parts.append(rotated.format(f"{middle:.1f}", _text(13, middle, chart.y.title, "middle")))
    return parts


def _series(canvas: Canvas, series: Series, number: int) -> Markup:
    parts = []
    if series.band:
        parts.append(_band(canvas, series))
    if series.fill:
        parts.append(_filled(canvas, series))
    if series.line:
        parts.append(_stroke(_path(canvas, series), series.colour, series.line, series.dash))
    if not series.band and (series.x_ends or series.y_ends):
        parts.append(_stroke(_bars(canvas, series), series.colour, series.bar))
    if series.mark:
        parts += [_mark(series, x, y) for x, y in _drawn_points(canvas, _finite_points(series), series.offset)]
    return Markup('<g data-series="{}">{}</g>').format(number, Markup().join(parts))


def _finite_points(series: Series) -> Points:
    return [(x, y) for x, y in zip(series.x, series.y, strict=True) if math.isfinite(x) and math.isfinite(y)]


def _drawn_points(canvas: Canvas, points: Points, offset: float = 0.0) -> Points:
    """Return points of the drawing for coordinates of the chart."""
    return [(canvas.across(x) + offset, canvas.up(y)) for x, y in points]


def _path(canvas: Canvas, series: Series) -> str:
    points = _drawn_points(canvas, _finite_points(series), series.offset)
    if series.step:
        points = _stairs(points)
    return _joined(points)


def _stairs(points: Points, *, early: bool = False) -> Points:
    """Add the corners of steps: each height holds until the next point, or from the previous one on if ``early``."""
    stairs = points[:1]
    for (x0, y0), (x1, y1) in pairwise(points):
        stairs += [(x0, y1) if early else (x1, y0), (x1, y1)]
    return stairs


def _joined(points: Points) -> str:
    """Return a short SVG path: points that round to the previous one are dropped, straight moves use H and V."""
    parts: list[str] = []
    last = ("", "")
    for point in points:
        x, y = (f"{value:.1f}" for value in point)
        if not parts:
            parts.append(f"M{x} {y}")
        elif (x, y) == last:
            continue
        elif y == last[1]:
            parts.append(f"H{x}")
        elif x == last[0]:
            parts.append(f"V{y}")
        else:
            parts.append(f"L{x} {y}")
        last = (x, y)
    return "".join(parts)


def _filled(canvas: Canvas, series: Series) -> Markup:
    points = _drawn_points(canvas, _finite_points(series), series.offset)
    if not points:
        return Markup()
    _, top, _, height = canvas.box
    return _area(f"{_path(canvas, series)}V{top + height:.1f}H{points[0][0]:.1f}z", series)


def _band(canvas: Canvas, series: Series) -> Markup:
    points = zip(series.x, series.y_ends, strict=True)
    known = [(x, ends) for x, ends in points if all(map(math.isfinite, (x, *ends)))]
    if not known:
        return Markup()
    upper = _drawn_points(canvas, [(x, high) for x, (_, high) in known])
    lower = _drawn_points(canvas, [(x, low) for x, (low, _) in known])
    if series.step:  # a rising curve is within the band until the next point
        upper = _stairs(upper, early=True)
        lower = _stairs(lower)
    return _area(_joined([*upper, *lower[::-1]]) + "z", series)


def _bars(canvas: Canvas, series: Series) -> str:
    """Return the path of the intervals; thin ones have caps."""
    parts = []
    for x, ends in zip(series.x, series.y_ends, strict=False):
        if all(map(math.isfinite, (x, *ends))):
            at = canvas.across(x) + series.offset
            low, high = map(canvas.up, ends)
            caps = [f"M{at - CAP:.1f} {end:.1f}h{2 * CAP}" for end in (low, high) if series.bar < 3]
            parts += [f"M{at:.1f} {low:.1f}V{high:.1f}", *caps]
    for y, ends in zip(series.y, series.x_ends, strict=False):
        if all(map(math.isfinite, (y, *ends))):
            at = canvas.up(y)
            low, high = map(canvas.across, ends)
            caps = [f"M{end:.1f} {at - CAP:.1f}v{2 * CAP}" for end in (low, high) if series.bar < 3]
            parts += [f"M{low:.1f} {at:.1f}H{high:.1f}", *caps]
    return "".join(parts)


def _mark(series: Series, x: float, y: float) -> Markup:
    return Markup('<path d="{}" transform="translate({:.1f} {:.1f})" style="fill:var(--{})"/>').format(
        MARKS[series.mark], x, y, series.colour
    )


def _stroke(path: str, colour: str, width: float, dash: str = "solid") -> Markup:
    pattern = f";stroke-dasharray:{DASHES[dash]}" if DASHES[dash] else ""
    return Markup('<path d="{}" style="fill:none;stroke:var(--{});stroke-width:{}{}"/>').format(
        path, colour, f"{width:g}", pattern
    )


def _area(path: str, series: Series) -> Markup:
    fill = "band" if series.band and series.colour == "member" else f"{series.colour}-fill"
    return Markup('<path d="{}" style="fill:var(--{})"/>').format(path, fill)


def _text(x: float, y: float, content: str, anchor: str, max_letters: int | None = None) -> Markup:
    """Draw text; if it is shortened, the full text is its title, shown under the pointer."""
    title = Markup()
    if max_letters is not None and len(content) > max_letters:
        title = Markup("<title>{}</title>").format(content)
        content = content[: max_letters - 1] + "…"
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>').format(x, y, anchor, title, content)
