"""Memorisation: equal to the interval of one record, and zero where nothing is memorised."""

import numpy as np
import pytest
from scipy.special import ndtr

from guestlist.metrics import proportion_difference
from guestlist.risks.memorisation import difference_of_shares, memorisation
from guestlist.testing import awkward_simulation, case_of, gaussian_simulation


def test_each_record_has_the_interval_of_a_separate_computation():
    rng = np.random.default_rng(0)
    n, n_outside = rng.integers(1, 30, 200), rng.integers(1, 30, 200)
    right, outside = rng.integers(0, n + 1), rng.integers(0, n_outside + 1)
    estimate = difference_of_shares(right, n, outside, n_outside)
    for i in range(200):
        wanted = proportion_difference(int(right[i]), int(n[i]), int(outside[i]), int(n_outside[i]))
        assert [part[i] for part in estimate] == pytest.approx(wanted, abs=1e-12)


def test_counted_by_hand_in_an_awkward_simulation():
    case = case_of(awkward_simulation(records=60, models=12))
    scores = memorisation(case)
    correct, member = case.view.reference("correct"), case.view.reference_member
    for i in range(60):
        sides = [
            [v for v, m in zip(correct[:, i], member[:, i], strict=True) if m == side and v == v]
            for side in (True, False)
        ]
        if not all(sides):
            assert np.isnan([part[i] for part in scores]).all()
        else:
            assert scores.value[i] == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]))
            assert scores.low[i] <= scores.value[i] <= scores.high[i]


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_intervals_hold_the_truth(shift):
    simulation = gaussian_simulation(shift, records=3000, models=33, seed=4)
    mean = np.where(simulation.member, simulation.values["margin"] - shift, simulation.values["margin"]).mean(axis=0)
    # The simulation does not return the difficulty of a record; the mean over all its models is close.
    truth = ndtr(mean + shift) - ndtr(mean)
    scores = memorisation(case_of(simulation))
    held = (scores.low <= truth) & (truth <= scores.high)
    assert held.mean() > 0.93
    assert np.nanmean(scores.value) == pytest.approx(truth.mean(), abs=0.02)
