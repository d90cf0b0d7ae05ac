"""Charts as SVG. Colours are variables of the page's style, so that a drawing follows it to dark and to paper.

A chart over the whole page is drawn twice, wide and narrow, and the style shows the one that fits: text keeps its size.
What users wrote is escaped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from markupsafe import Markup, escape

from guestlist.report.charts import DASHES, MARKS, Chart, Ends, Series, axis_range, tick_label, ticks

WIDE, NARROW = 700.0, 420.0
LETTER = 6.4  # the width of a letter, about
FINE = 6.0  # points between those of a line that is bent by a logarithmic axis


def draw_chart(chart: Chart) -> Markup:
    """The drawing or drawings of a chart."""
    if not chart.whole:
        return _drawing(Canvas(chart, NARROW), "")
    return _drawing(Canvas(chart, WIDE), "wide-drawing") + _drawing(Canvas(chart, NARROW), "narrow-drawing")


def swatch(series: Series) -> Markup:
    """How a series looks, for a key."""
    parts = []
    if series.band or series.fill:
        parts.append(_shape("path", "M0 1h32v10h-32z", fill=_fill(series)))
    if series.line or series.band:  # a band is that of a line
        parts.append(_stroke("M0 6h32", series.colour, series.line or 2.6, series.dash))
    if series.mark:
        parts.append(_mark(series, 16, 6))
    return Markup('<svg viewBox="0 0 32 12" aria-hidden="true">{}</svg>').format(Markup().join(parts))


@dataclass(frozen=True)
class Canvas:
    """Where figures stand on a drawing of some width."""

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
        """Left, top, width and height of what lies within the axes."""
        labels = [_label(self, tick_label(self.chart.y, tick)) for tick in ticks(self.chart.y, self.y)]
        left = max((len(label) for label in labels), default=0) * LETTER + (34 if self.chart.y.title else 14)
        return left, 12, self.width - left - 20, self.chart.height - 12 - 48

    def across(self, x: float) -> float:
        left, _, width, _ = self.box
        return left + width * _share(x, self.x, self.chart.x.log)

    def up(self, y: float) -> float:
        _, top, _, height = self.box
        return top + height * (1 - _share(y, self.y, self.chart.y.log))


def _share(value: float, ends: Ends, log: bool) -> float:
    """Where a figure stands between the ends, which it does not pass."""
    low, high = ends
    value = min(max(value, min(ends)), max(ends))
    if log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low)


def _label(canvas: Canvas, text: str) -> str:
    """Text beside an upright axis, as much as there is room for."""
    most = int(0.4 * canvas.width / LETTER)
    return text if len(text) <= most else text[: most - 1] + "…"


def _drawing(canvas: Canvas, look: str) -> Markup:
    parts = [*_grid(canvas), *(_series(canvas, series, i) for i, series in enumerate(canvas.chart.series))]
    box = " ".join(f"{value:g}" for value in canvas.box)
    scales = " ".join(f"{value:.10g}" for value in (*canvas.x, canvas.chart.x.log, *canvas.y, canvas.chart.y.log))
    return Markup(
        '<svg class="drawing {}" viewBox="0 0 {} {}" data-box="{}" data-scales="{}" aria-hidden="true">{}</svg>'
    ).format(look, f"{canvas.width:g}", f"{canvas.chart.height:g}", box, scales, Markup().join(parts))


def _grid(canvas: Canvas) -> list[Markup]:
    """Axes with their ticks, numbers and titles."""
    chart, (left, top, width, height) = canvas.chart, canvas.box
    right, bottom = left + width, top + height
    parts, across, up = [], ticks(chart.x, canvas.x), ticks(chart.y, canvas.y)
    lines = "".join(f"M{canvas.across(x):.1f} {top}V{bottom:.1f}" for x in across if not chart.x.names)
    lines += "".join(f"M{left:.1f} {canvas.up(y):.1f}H{right:.1f}" for y in up)
    parts.append(_stroke(lines, "grid", 1))
    parts.append(_stroke(f"M{left:.1f} {top}V{bottom:.1f}H{right:.1f}", "rule", 1))
    parts += [_text(canvas.across(x), bottom + 17, tick_label(chart.x, x), "middle") for x in across]
    for y in up:
        full = tick_label(chart.y, y)
        parts.append(_text(left - 7, canvas.up(y) + 4, _label(canvas, full), "end", full))
    parts.append(_text(left + width / 2, bottom + 39, chart.x.title, "middle"))
    if chart.y.title:
        turned = Markup('<g transform="rotate(-90 13 {})">{}</g>')
        middle = f"{top + height / 2:.1f}"
        parts.append(turned.format(middle, _text(13, top + height / 2, chart.y.title, "middle")))
    return parts


def _series(canvas: Canvas, series: Series, number: int) -> Markup:
    parts = []
    if series.band:
        parts.append(_band(canvas, series))
    if series.fill:
        parts.append(_filled(canvas, series))
    if series.line:
        parts.append(_stroke(_path(canvas, series), series.colour, series.line, series.dash))
    if not series.band:
        parts += [_stroke(_bars(canvas, series), series.colour, series.bar)] if series.x_ends or series.y_ends else []
    if series.mark:
        parts += [_mark(series, x, y) for x, y in _places(canvas, series)]
    return Markup('<g data-series="{}">{}</g>').format(number, Markup().join(parts))


def _places(canvas: Canvas, series: Series) -> list[tuple[float, float]]:
    """Where the points stand that are known."""
    points = zip(series.x, series.y, strict=True)
    return [
        (canvas.across(x) + series.beside, canvas.up(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)
    ]


def _path(canvas: Canvas, series: Series) -> str:
    if series.step:
        return _joined(_stairs(_places(canvas, series)))
    points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if math.isfinite(x) and math.isfinite(y)]
    return _joined([(canvas.across(x) + series.beside, canvas.up(y)) for x, y in _bent(canvas, points)])


def _bent(canvas: Canvas, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points with others in between, where a straight piece is bent by a logarithmic axis."""
    if not (canvas.chart.x.log or canvas.chart.y.log) or not points:
        return points
    found = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        wide, high = abs(canvas.across(x1) - canvas.across(x0)), abs(canvas.up(y1) - canvas.up(y0))
        if wide > 1 and high > 1:  # one that is level or upright stays so
            found += _within(canvas, (x0, y0), (x1, y1), math.ceil(max(wide, high) / FINE))
        found.append((x1, y1))
    return found


def _within(canvas: Canvas, start, end, pieces: int) -> list[tuple[float, float]]:
    """Points of a straight piece that are evenly spread on the drawing along the axis that bends it."""
    which = 0 if canvas.chart.x.log else 1
    ends = (canvas.x, canvas.y)[which]
    low, high = (math.log(min(max(point[which], min(ends)), max(ends))) for point in (start, end))
    if start[which] == end[which]:
        return []
    found = []
    for i in range(pieces + 1):
        value = math.exp(low + (high - low) * i / pieces)
        share = min(max((value - start[which]) / (end[which] - start[which]), 0.0), 1.0)
        found.append((start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])))
    return found


def _stairs(places: list[tuple[float, float]], *, early: bool = False) -> list[tuple[float, float]]:
    """Places with corners: each height holds until the next place, or from the last one on if ``early``."""
    found = places[:1]
    for (x0, y0), (x1, y1) in pairwise(places):
        found += [(x0, y1) if early else (x1, y0), (x1, y1)]
    return found


def _joined(places: list[tuple[float, float]]) -> str:
    """A path through places, in few letters: without those that no screen tells from the last, and level or upright by name."""
    parts: list[str] = []
    last = ("", "")
    for place in places:
        x, y = (f"{value:.1f}" for value in place)
        if not parts:
            parts.append(f"M{x} {y}")
        elif (x, y) != last:
            parts.append(f"H{x}" if y == last[1] else f"V{y}" if x == last[0] else f"L{x} {y}")
        last = x, y
    return "".join(parts)


def _filled(canvas: Canvas, series: Series) -> Markup:
    places = _places(canvas, series)
    if not places:
        return Markup()
    _, top, _, height = canvas.box
    closed = f"{_path(canvas, series)}V{top + height:.1f}H{places[0][0]:.1f}z"
    return _shape("path", closed, fill=_fill(series))


def _band(canvas: Canvas, series: Series) -> Markup:
    points = zip(series.x, series.y_ends, strict=True)
    known = [(x, ends) for x, ends in points if all(map(math.isfinite, (x, *ends)))]
    if not known:
        return Markup()
    upper = [(canvas.across(x), canvas.up(high)) for x, (_, high) in known]
    lower = [(canvas.across(x), canvas.up(low)) for x, (low, _) in known]
    if series.step:  # what only rises lies within until the next place
        upper, lower = _stairs(upper, early=True), _stairs(lower)
    return _shape("path", _joined([*upper, *lower[::-1]]) + "z", fill=_fill(series))


def _bars(canvas: Canvas, series: Series) -> str:
    """Intervals, with small feet where they are thin."""
    foot, parts = 3 if series.bar < 3 else 0, []
    for i, x in enumerate(series.x):
        y = series.y[i] if series.y else math.nan
        if series.y_ends and all(map(math.isfinite, (x, *series.y_ends[i]))):
            at, (low, high) = canvas.across(x) + series.beside, map(canvas.up, series.y_ends[i])
            ends = (low, high) if foot else ()
            parts += [f"M{at:.1f} {low:.1f}V{high:.1f}"]
            parts += [f"M{at - foot:.1f} {end:.1f}h{2 * foot}" for end in ends]
        if series.x_ends and all(map(math.isfinite, (y, *series.x_ends[i]))):
            at, (low, high) = canvas.up(y), map(canvas.across, series.x_ends[i])
            ends = (low, high) if foot else ()
            parts += [f"M{low:.1f} {at:.1f}H{high:.1f}"]
            parts += [f"M{end:.1f} {at - foot:.1f}v{2 * foot}" for end in ends]
    return "".join(parts)


def _mark(series: Series, x: float, y: float) -> Markup:
    form = Markup('<path d="{}" transform="translate({} {})" style="fill:var(--{})"/>')
    return form.format(MARKS[series.mark], f"{x:.1f}", f"{y:.1f}", series.colour)


def _stroke(path: str, colour: str, width: float, dash: str = "solid") -> Markup:
    pattern = f";stroke-dasharray:{DASHES[dash]}" if DASHES[dash] else ""
    form = Markup('<path d="{}" style="fill:none;stroke:var(--{});stroke-width:{}{}"/>')
    return form.format(path, colour, f"{width:g}", pattern)


def _fill(series: Series) -> str:
    return "var(--band)" if series.band and series.colour == "member" else f"var(--{series.colour}-fill)"


def _shape(tag: str, path: str, *, fill: str) -> Markup:
    return Markup('<{} d="{}" style="fill:{}"/>').format(Markup(tag), path, fill)


def _text(x: float, y: float, content: str, anchor: str, full: str = "") -> Markup:
    """Text; what is cut short is whole under the pointer."""
    told = Markup("<title>{}</title>").format(full) if full and full != content else Markup()
    form = Markup('<text x="{}" y="{}" text-anchor="{}">{}{}</text>')
    return form.format(f"{x:.1f}", f"{y:.1f}", anchor, told, escape(content))
