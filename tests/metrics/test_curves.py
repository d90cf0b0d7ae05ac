import numpy as np
import pytest

from guestlist.metrics import auc, roc, roc_steps, tpr_at_fpr
from simulated_cases import ScoreSimulation


def full_curve(scores, member):
    thresholds = np.unique(scores)[::-1]
    tpr = [0.0, *(np.mean(scores[member] >= t) for t in thresholds)]
    fpr = [0.0, *(np.mean(scores[~member] >= t) for t in thresholds)]
    return np.array(fpr), np.array(tpr)


def area(fpr, tpr):
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_a_small_curve_keeps_its_area_and_its_corners(step):
    scores, member = ScoreSimulation(1.0, step=step).draw(np.random.default_rng(0), 60, 90)
    curve, (fpr, tpr) = roc(scores, member), full_curve(scores, member)
    assert area(curve.fpr, curve.tpr) == pytest.approx(auc(scores, member).value, abs=1e-12)
    assert np.interp(fpr, curve.fpr, curve.tpr)[1:-1].max() <= 1
    assert set(zip(curve.fpr, curve.tpr, strict=True)) <= set(zip(fpr, tpr, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 1.0, 4.0])
def test_a_large_curve_is_thinned_without_moving(shift):
    scores, member = ScoreSimulation(shift).draw(np.random.default_rng(0), 4000, 6000)
    curve, (fpr, tpr) = roc(scores, member), full_curve(scores, member)
    assert len(curve.fpr) <= 402
    assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(curve.fpr) >= 0).all()
    assert (np.diff(curve.tpr) >= 0).all()
    # In linear and in logarithmic axes, every corner that was left out has a kept one within 1 % of an axis.
    turns = (np.diff(fpr)[1:] > 0) != (np.diff(fpr)[:-1] > 0)
    corner = np.concatenate([[True], turns, [True]])
    removed = np.isin(fpr * 5000 + tpr, curve.fpr * 5000 + curve.tpr)
    assert removed.sum() == len(curve.fpr)
    for x, y in ((fpr, tpr), (log_axis(fpr), log_axis(tpr))):
        distance = np.abs(x[corner, None] - x[removed]) + np.abs(y[corner, None] - y[removed])
        assert distance.min(axis=1).max() <= 4 / 399 + 1e-9


def log_axis(rate):
    """A logarithmic axis of length 1 that starts below one record in ten thousand."""
    return np.log(np.maximum(rate, 1e-4)) / np.log(1e4)


def test_without_both_kinds_only_the_ends_remain():
    curve = roc(np.arange(3.0), np.ones(3, dtype=bool))
    assert curve.fpr.tolist() == curve.tpr.tolist() == [0, 1]


def height(curve, fpr):
    """Return the points of a step function: from each point to the right, then up at the next."""
    return curve.tpr[np.searchsorted(curve.fpr, fpr, "right") - 1]


@pytest.mark.parametrize("step", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_stairs_are_what_tpr_at_fpr_computes(step, weighted):
    rng = np.random.default_rng(0)
    scores, member = ScoreSimulation(1.0, step=step).draw(rng, 60, 90)
    weights = rng.integers(1, 4, len(scores)) * 1.0 if weighted else None
    curve = roc_steps(scores, member, weights=weights)
    assert (np.diff(curve.fpr) > 0).all()
    for fpr in (*np.linspace(0.07, 1, 41), *curve.fpr[curve.fpr > 0.07]):
        assert height(curve, fpr + 1e-12) == tpr_at_fpr(scores, member, fpr, weights=weights).value
    slanted = roc(scores, member, weights=weights)
    below = np.interp(curve.fpr, slanted.fpr, slanted.tpr) - curve.tpr
    assert (below >= -1e-12).all() or step == 0  # randomised decisions on equal scores flag some of them


def test_thinned_stairs_are_exact_where_they_are_wanted():
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(0), 4000, 6000)
    at = np.geomspace(1 / 6000, 1, 50)
    curve, every = roc_steps(scores, member, at=at), roc_steps(scores, member)
    assert len(every.fpr) <= 402
    assert (np.diff(curve.tpr) >= 0).all()
    assert [height(curve, fpr) for fpr in at] == [tpr_at_fpr(scores, member, fpr).value for fpr in at]
    assert roc_steps(np.arange(3.0), np.ones(3, dtype=bool)).fpr.tolist() == [0, 1]
