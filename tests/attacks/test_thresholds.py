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
