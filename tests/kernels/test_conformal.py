import numpy as np
import pytest

from guestlist.metrics import conformal_p_values, count_unscored


def test_p_values_count_one_by_one():
    rng = np.random.default_rng(0)
    scores, calibration = rng.integers(0, 9, 50).astype(float), rng.integers(0, 9, 30).astype(float)
    expected = [(1 + sum(c >= s for c in calibration)) / 31 for s in scores]
    assert conformal_p_values(scores, calibration) == pytest.approx(expected)


def test_unscored_is_nan_and_not_counted():
    p_values = conformal_p_values(np.array([np.nan, np.inf, -np.inf]), np.array([1.0, np.nan, 2.0]))
    assert np.isnan(p_values[0])
    assert p_values[1:].tolist() == [1 / 3, 1]
    assert count_unscored(np.array([[np.nan, 1], [np.inf, np.nan]])) == 2


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_p_values_of_nonmembers_are_valid(step):
    scores = np.random.default_rng(1).normal(size=(4000, 20))
    scores = step * np.round(scores / step) if step else scores
    p = np.array([conformal_p_values(row[:1], row[1:])[0] for row in scores])
    for size in (0.05, 0.1, 0.5):
        assert np.mean(p <= size + 1e-12) <= size + 4 * np.sqrt(size * (1 - size) / len(p))
