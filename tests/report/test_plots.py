"""Plots: the data drawn are those of the results."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from example_results import hostile, leaking, quiet
from guestlist import InputError


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield
    sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def ax():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    return pyplot.subplots()[1]


@pytest.mark.slow
def test_roc_draws_the_curve_and_the_band_of_the_headline(ax):
    assert leaking().plot.roc(ax=ax) is ax
    curve = leaking().attack("lira").curve
    drawn, guessing = ax.get_lines()
    np.testing.assert_array_equal(drawn.get_data(), [curve.fpr, curve.tpr])
    x, y = guessing.get_data()
    np.testing.assert_array_equal(x, y)
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert set(curve.band_high) | set(curve.band_low) <= set(heights)


@pytest.mark.slow
def test_roc_draws_the_attacks_that_were_named(ax):
    leaking().plot.roc(ax, attacks=("loss", "entropy"))
    assert [line.get_label() for line in ax.get_lines()] == ["loss", "entropy", "guessing"]


def with_gaps():
    """Results with six records: five members, of which two are flagged, and one of these has an infinite gap."""
    records = pd.DataFrame(
        {
            "member": [True, True, True, True, True, False],
            "gap": [-1.0, 0.0, 1.0, 4.0, np.inf, 9.0],
            "flagged": [False, False, False, True, True, False],
        }
    )
    return replace(leaking(), records=records)


@pytest.mark.slow
def test_exposure_draws_every_member_and_marks_those_that_are_flagged(ax):
    with_gaps().plot.exposure(ax)
    unmarked, marked = ax.containers
    counts = np.array([bar.get_height() for bar in unmarked]), np.array([bar.get_height() for bar in marked])
    edges = np.array([bar.get_x() for bar in unmarked])
    assert (counts[0].sum(), counts[1].sum()) == (3, 2)
    assert edges[counts[0] > 0] == pytest.approx([-1, 0, 1], abs=5 / 40)
    assert np.flatnonzero(counts[1]).tolist() == [len(counts[1]) - 1]  # infinite as well as 4, the largest finite gap
    assert {bar.get_hatch() for bar in marked} == {"////"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["members (3)", "flagged members (2)"]


def test_exposure_needs_records_with_references(ax):
    with pytest.raises(InputError, match="references="):
        leaking().plot.exposure(ax)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groups", "comparison"])
def test_each_row_has_its_value_and_interval(ax, name):
    rows = {"groups": leaking().groups, "comparison": leaking().outcomes}[name]
    getattr(leaking().plot, name)(ax)
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), [row.auc.value for row in rows])
    bars = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(bars, [(row.auc.low, row.auc.high) for row in rows])
    assert len(ax.get_yticklabels()) == len(rows)


@pytest.mark.slow
def test_without_axes_each_plot_makes_new_ones_and_hostile_names_are_drawn():
    for name in ("roc", "groups", "comparison"):
        axes = getattr(hostile().plot, name)()
        axes.figure.canvas.draw()


def test_groups_that_were_not_given_are_an_error(ax):
    with pytest.raises(InputError, match="group="):
        quiet(groups=None).plot.groups(ax)


def test_matplotlib_that_is_missing_is_named_with_its_extra(ax, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(InputError, match=r'pip install "\.\[plot\]"'):
            leaking().plot.roc()
