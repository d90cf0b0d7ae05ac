"""Charts as SVG: every value is drawn at its position on the axis, and what users wrote is text."""

import math
import re

import pytest
from markupsafe import escape

from example_results import HOSTILE
from guestlist._report.charts import (
    NARROW,
    WIDE,
    Axis,
    Canvas,
    Chart,
    Series,
    axis_range,
    chart_data,
    diagonal,
    draw_chart,
    swatch,
    ticks,
)

SQUARE = Axis("x", (0.0, 1.0)), Axis("y", (0.0, 1.0))
LOG = Axis("x", (0.001, 1.0), log=True), Axis("y", (0.001, 1.0), log=True)


def chart_of(axes=SQUARE, **options):
    return Chart(*axes, (Series("a", **options),))


def line_of(chart):
    """The points of the first path of the first series, as they were drawn."""
    path, places = re.search(r'<g data-series="0"><path d="([^"]*)"', draw_chart(chart)).group(1), []
    for letter, numbers in re.findall(r"([MLHV])([\d. ]+)", path):
        coordinates = [float(number) for number in numbers.split()]
        x, y = (
            (*coordinates, places[-1][1])
            if letter == "H"
            else (places[-1][0], *coordinates)
            if letter == "V"
            else coordinates
        )
        places.append((x, y))
    return places


def test_a_number_is_drawn_at_its_position_on_both_axes():
    chart = chart_of(x=(0.0, 0.5, 1.0), y=(0.0, 0.25, 1.0), line=1)
    left, top, width, height = Canvas(chart, NARROW).box
    wanted = [(left + x * width, top + (1 - y) * height) for x, y in ((0, 0), (0.5, 0.25), (1, 1))]
    assert line_of(chart) == [pytest.approx(point, abs=0.06) for point in wanted]


def test_the_diagonal_is_drawn_at_equal_values_of_logarithmic_axes():
    axes = Axis("x", (0.01, 1.0), log=True), Axis("y", (0.001, 1.0), log=True)
    chart = Chart(*axes, (diagonal(),))
    canvas = Canvas(chart, NARROW)
    left, _, width, _ = canvas.box
    inside = [point for point in line_of(chart) if point[0] > left + 0.1]  # smaller values are drawn at the axis's end
    assert len(inside) > 20
    for across, up in inside:
        assert canvas.up(0.01 ** (1 - (across - left) / width)) == pytest.approx(up, abs=0.6)


def test_a_step_holds_until_the_next_and_a_band_between_steps_holds_what_rises():
    stairs = line_of(chart_of(x=(0.0, 0.5, 1.0), y=(0.2, 0.6, 0.6), line=1, step=True))
    canvas = Canvas(chart_of(x=(0.0,), y=(0.0,)), NARROW)
    corners = ((0, 0.2), (0.5, 0.2), (0.5, 0.6), (1, 0.6))
    assert stairs == [pytest.approx((canvas.across(x), canvas.up(y)), abs=0.06) for x, y in corners]
    ends = ((0.1, 0.3), (0.5, 0.7))
    band = chart_of(x=(0.0, 1.0), y_ends=ends, band=True, step=True)
    corners = ((0, 0.3), (0, 0.7), (1, 0.7), (1, 0.5), (1, 0.1), (0, 0.1))
    assert line_of(band) == [pytest.approx((canvas.across(x), canvas.up(y)), abs=0.06) for x, y in corners]


def test_values_beyond_the_axes_are_drawn_at_their_end_and_unknown_ones_not_at_all():
    chart = chart_of(LOG, x=(0.01, 0.1, 0.2), y=(0.0, math.nan, 2.0), mark="circle")
    canvas = Canvas(chart, NARROW)
    marks = re.findall(r'transform="translate\(([\d.]+) ([\d.]+)\)"', draw_chart(chart))
    wanted = [(canvas.across(0.01), canvas.up(0.001)), (canvas.across(0.2), canvas.up(1.0))]
    assert [tuple(map(float, mark)) for mark in marks] == [pytest.approx(point, abs=0.06) for point in wanted]
    assert "nan" not in draw_chart(chart)
    assert chart_data(chart)["series"][0]["y"] == [0.0, None, 2.0]  # as they are, for the CSV


def test_an_interval_reaches_from_end_to_end():
    chart = chart_of(x=(0.5,), y=(0.5,), x_ends=((0.4, 0.7),), y_ends=((0.2, 0.9),))
    canvas = Canvas(chart, NARROW)
    bars = re.search(r'<g data-series="0"><path d="([^"]*)"', draw_chart(chart)).group(1)
    assert f"M{canvas.across(0.5):.1f} {canvas.up(0.2):.1f}V{canvas.up(0.9):.1f}" in bars
    assert f"M{canvas.across(0.4):.1f} {canvas.up(0.5):.1f}H{canvas.across(0.7):.1f}" in bars


def test_axes_cover_the_values():
    chart = Chart(
        Axis("x"), Axis("y", log=True), (Series("a", (1.0, 3.0), (0.0, 0.1), y_ends=((0.0, 0.1), (0.05, 0.4))),)
    )
    low, high = axis_range(chart, "x")
    assert low < 1 < 3 < high
    assert axis_range(chart, "y") == (0.05, 0.4)  # a logarithm has no zero
    named = Chart(Axis("", names=("a", "b")), Axis("", names=("c", "d", "e")), ())
    assert axis_range(named, "x") == (-0.5, 1.5)
    assert axis_range(named, "y") == (2.5, -0.5)  # from the top
    for nothing in (
        Chart(Axis("x"), Axis("y"), ()),
        chart_of((Axis("x"), Axis("y", log=True)), x=(math.nan,), y=(math.nan,)),
    ):
        assert "nan" not in draw_chart(nothing)


@pytest.mark.parametrize("ends", [(0, 0.9), (-3.7, 12), (0, 1e-5), (1234, 1250), (-1e6, 1e6)])
def test_ticks_are_round_few_and_within(ends):
    positions = ticks(Axis("x"), ends)
    assert 3 <= len(positions) <= 7
    assert all(ends[0] <= tick <= ends[1] for tick in positions)
    assert all(len(f"{tick:.6g}".replace("-", "").replace(".", "").lstrip("0")) <= 9 for tick in positions)
    assert ticks(Axis("x", log=True), (0.001, 1.0)) == pytest.approx((0.001, 0.01, 0.1, 1.0))


def test_one_over_the_page_is_drawn_wide_and_narrow():
    chart = Chart(*SQUARE, (Series("a", (0.0, 1.0), (0.0, 1.0), line=1),), full_width=True)
    assert re.findall(r'viewBox="0 0 (\d+)', draw_chart(chart)) == [f"{WIDE:g}", f"{NARROW:g}"]


def test_what_users_wrote_is_text():
    names = Axis("", names=(HOSTILE, "b"))
    chart = Chart(Axis(HOSTILE), names, (Series(HOSTILE, (0.0, 1.0), (0.0, 1.0), mark="star"),))
    made = draw_chart(chart)
    assert "<img" not in made
    assert "<script" not in made
    assert made.count(str(escape(HOSTILE))) == 2  # the title of the axis, and the whole of a name that is cut short
    assert "<img" not in swatch(chart.series[0])


def test_arrays_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="Expected y_ends of 'a' to have 2 numbers"):
        Series("a", (0.0, 1.0), (0.0, 1.0), y_ends=((0.0, 1.0),))
