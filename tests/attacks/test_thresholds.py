import numpy as np
import pytest

from guestlist.attacks.thresholds import thresholds_of_others
from guestlist.evaluate import best_threshold


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_leaving_each_block_out_equals_choosing_without_it(digits, shift, chunk):
    rng = np.random.default_rng(0)
    for points in (3, 50, 1000):
        block, member = rng.integers(0, 6, points), rng.random(points) < 0.4
        scores = np.round(rng.normal(size=points) + shift * member, digits)
        found = thresholds_of_others(scores, member, block, 6, chunk=chunk)
        for b in range(6):
            others = block != b
            both = member[others].any() and not member[others].all()
            expected = best_threshold(scores[others], member[others]) if both else np.nan
            np.testing.assert_array_equal(found[b], expected)


def test_infinite_scores_are_tied_with_each_other():
    scores = np.array([np.inf, np.inf, 1.0, -np.inf, -np.inf, 0.0])
    member = np.array([True, False, True, False, True, False])
    found = thresholds_of_others(scores, member, np.arange(6), 6, chunk=1)
    for b in range(6):
        others = np.arange(6) != b
        np.testing.assert_array_equal(found[b], best_threshold(scores[others], member[others]))


def test_no_points_give_no_threshold():
    assert np.isnan(thresholds_of_others(np.array([]), np.array([], bool), np.array([], int), 3)).all()
