"""Plots: the data drawn are those of the results."""

import sys

import numpy as np
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


@pytest.mark.slow
def test_exposure_draws_the_two_histograms(ax):
    leaking().plot.exposure(ax)
    histogram = leaking().attack("lira").histogram
    nonmembers, members = (patch.get_data() for patch in ax.patches)
    np.testing.assert_array_equal(nonmembers.values, histogram.nonmembers)
    np.testing.assert_array_equal(members.values, histogram.members)
    np.testing.assert_array_equal(members.edges, histogram.edges)


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
    for name in ("roc", "exposure", "groups", "comparison"):
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
