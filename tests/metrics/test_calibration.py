"""Calibration error: its interval holds the truth, for sure and for unsure models, for few records and for persons."""

import numpy as np
import pytest

from guestlist.metrics import calibration_error


def truth(sureness, chance, estimate):
    """Mean distance within the bins that the estimate made of these records."""
    edges = np.unique(np.quantile(sureness, np.arange(1, 10) / 10))
    bins = np.searchsorted(edges, sureness)
    return sum(abs((sureness - chance)[bins == b].sum()) for b in np.unique(bins)) / len(bins)


# Confidences, and how often predictions of that confidence are right.
MODELS = {
    "calibrated": lambda rng, n: (s := rng.uniform(0.5, 1, n), s),
    "too sure": lambda rng, n: (s := rng.uniform(0.5, 1, n), 0.4 + 0.4 * (s - 0.5)),
    "always sure": lambda rng, n: (np.ones(n), np.full(n, 0.9)),
    "all right": lambda rng, n: (rng.uniform(0.95, 1, n), np.full(n, 0.999)),
}


@pytest.mark.parametrize("records", [30, 400])
@pytest.mark.parametrize("model", MODELS)
def test_intervals_hold_the_truth(model, records):
    rng, held = np.random.default_rng(0), []
    for _ in range(150):
        sureness, chance = MODELS[model](rng, records)
        error = calibration_error(sureness, rng.random(records) < chance)
        held.append(error.low <= truth(sureness, chance, error) <= error.high)
    assert np.mean(held) >= 0.92


def test_of_persons():
    """Ten records of a person are right together: counted as independent the interval would be too short."""
    rng, held = np.random.default_rng(1), [[], []]
    for _ in range(150):
        sureness, person = np.full(300, 0.9), np.repeat(np.arange(30), 10)
        right = (rng.random(30) < 0.8)[person]
        for k, persons in enumerate((None, person)):
            error = calibration_error(sureness, right, clusters=persons)
            held[k].append(error.low <= 0.1 <= error.high)
    assert np.mean(held[0]) < 0.7
    assert np.mean(held[1]) >= 0.92


def test_known_values():
    right = np.array([1, 0, 1, 1, 1, 1, 1, 1, 1, 1], dtype=bool)
    assert calibration_error(np.ones(10), right).value == pytest.approx(0.1)
    two = calibration_error(np.repeat([0.6, 0.9], 100), np.arange(200) % 2 == 0)
    assert two.value == pytest.approx((0.1 + 0.4) / 2)
    assert np.isnan(calibration_error(np.array([]), np.array([], dtype=bool)).value)
    with pytest.raises(ValueError, match="Expected scores and member"):
        calibration_error(np.ones(3), np.ones(2))
