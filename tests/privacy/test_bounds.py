"""Upper bounds on attacks under differential privacy."""

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from guestlist import Claim
from guestlist.privacy import (
    erlingsson,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_tpr,
    group_privacy,
    humphries,
    largest_tpr,
    yeom,
)

epsilons, deltas = st.floats(0, 50), st.floats(0, 0.99)


@given(epsilons, deltas)
def test_the_three_bounds_on_the_advantage_are_in_order(epsilon, delta):
    assert 0 <= humphries(epsilon, delta) <= erlingsson(epsilon, delta) + 1e-12
    assert erlingsson(epsilon, delta) <= yeom(epsilon, delta) + 1e-12
    assert yeom(epsilon, delta) <= 1


@pytest.mark.parametrize(("epsilon", "bound"), [(0.1, 0.04997), (1, 0.46212), (2, 0.76160)])
def test_humphries_at_a_small_delta(epsilon, bound):
    assert humphries(epsilon, 1e-5) == pytest.approx(bound, abs=6e-6)
    assert humphries(epsilon, 1e-5) == pytest.approx((exp(epsilon) - 1 + 2e-5) / (exp(epsilon) + 1), abs=1e-15)


def test_its_gain_over_erlingsson():
    most = minimize_scalar(
        lambda e: humphries(e) - erlingsson(e), bounds=(0, 5), method="bounded", options={"xatol": 1e-9}
    )
    assert -most.fun == pytest.approx(3 - 2 * sqrt(2), abs=1e-9)
    assert most.x == pytest.approx(0.8814, abs=1e-4)


@given(epsilons, deltas)
def test_humphries_is_the_largest_advantage_within_the_region(epsilon, delta):
    corner = (1 - delta) / (1 + exp(epsilon))  # where the two lines of the region meet
    assert largest_tpr(corner, epsilon, delta) - corner == pytest.approx(humphries(epsilon, delta), abs=1e-9)
    fpr = np.linspace(0, 1, 101)
    assert (largest_tpr(fpr, epsilon, delta) - fpr <= humphries(epsilon, delta) + 1e-12).all()


def test_the_region_has_two_lines_and_its_mirror_image():
    assert largest_tpr(0.1, log(2), 0.01) == pytest.approx(0.21)
    assert largest_tpr(0.6, log(2), 0.01) == pytest.approx(1 - 0.5 * (1 - 0.01 - 0.6))
    assert largest_tpr(np.array([0.0, 1.0]), 800.0, 1e-5) == pytest.approx([1e-5, 1.0])


@pytest.mark.parametrize(("mu", "epsilon"), [(1, 4.3772), (2, 9.9973)])
def test_epsilon_of_gaussian_noise(mu, epsilon):
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(epsilon, abs=1e-4)
    assert gaussian_delta(gaussian_epsilon(mu, 1e-5), mu) == pytest.approx(1e-5, rel=1e-6)
    assert gaussian_mu(epsilon, 1e-5) == pytest.approx(mu, abs=1e-4)


@given(st.floats(0.05, 4), st.floats(0, 8))
def test_delta_of_gaussian_noise_is_the_gap_between_the_curve_and_a_line(mu, epsilon):
    """delta(epsilon) = max over FPR of TPR − exp(epsilon) FPR."""
    fpr = norm.cdf(-epsilon / mu - mu / 2)
    assert gaussian_delta(epsilon, mu) == pytest.approx(gaussian_tpr(fpr, mu) - exp(epsilon) * fpr, abs=1e-12)
    grid = norm.cdf(np.linspace(-8, 8, 400))
    assert (gaussian_tpr(grid, mu) <= largest_tpr(grid, epsilon, gaussian_delta(epsilon, mu)) + 1e-9).all()


def test_no_noise_is_needed_where_nothing_depends_on_a_record():
    assert gaussian_epsilon(0, 1e-5) == 0
    assert gaussian_delta(1.0, 0) == 0


def test_of_a_group():
    claim = group_privacy(0.5, 1e-6, 3)
    assert claim.epsilon == 1.5
    assert claim.delta == pytest.approx(1e-6 * (exp(1.5) - 1) / (exp(0.5) - 1))
    assert group_privacy(0.0, 1e-6, 4).delta == pytest.approx(4e-6)
    assert group_privacy(500.0, 0.0, 4) == Claim(2000.0, 0.0)
    assert group_privacy(5.0, 1e-3, 4).delta < 1


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (float("nan"), 0), (float("inf"), 0), (1, 1), (1, -0.1)])
def test_what_is_no_claim(epsilon, delta):
    with pytest.raises(ValueError, match="Expected"):
        Claim(epsilon, delta)
