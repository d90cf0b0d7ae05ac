"""Weight tables against exact rationals and the identities they must obey."""

from fractions import Fraction

import numpy as np
import pytest

import oracles_neighbours as oracles
from guestlist.knn.pool import banzhaf_radius, banzhaf_weights, loo_weights, shapley_weights


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 10)])
def test_banzhaf_weights_equal_exact_rationals(k, p):
    weights = banzhaf_weights(150, k, float(p))
    exact = [0] * k + [oracles.banzhaf_weight_exactly(j, k, p) for j in range(k + 1, 151)]
    beyond = np.array([float(-sum(exact[r:])) for r in range(151)])
    np.testing.assert_allclose(weights.mass, beyond, rtol=1e-12, atol=0)
    beyond = np.array([float(-sum((j + 1) * exact[j] for j in range(r, 150))) for r in range(151)])
    np.testing.assert_allclose(weights.moment, beyond, rtol=1e-12, atol=0)


@pytest.mark.parametrize("n", [1, 3, 5, 6, 1000, 100_000])
@pytest.mark.parametrize("k", [1, 5, 50, 2000])
@pytest.mark.parametrize("p", [0.5, 0.01, 1.0])
def test_weights_of_all_outcomes_add_up(n, k, p):
    """A record either pushes out one rank or fills an empty place, and then counts 1/k."""
    for weights in (shapley_weights(n, k), banzhaf_weights(n, k, p), loo_weights(n, k)):
        total = weights.end - weights.mass[0]
        assert total == pytest.approx(1 / k, rel=1e-11)
        assert weights.n == n


def test_radius_is_the_published_table():
    assert [banzhaf_radius(10**5, k) for k in (1, 5, 10, 20, 50, 100)] == [54, 72, 91, 123, 209, 339]
    assert [banzhaf_radius(10**5, k, negligible=1e-6) for k in (1, 5, 10, 20, 50, 100)] == [
        21,
        35,
        49,
        75,
        147,
        260,
    ]


@pytest.mark.parametrize(("n", "k", "p"), [(2000, 5, 0.5), (2000, 3, 0.1), (60, 5, 0.5), (4, 7, 0.5)])
def test_nothing_beyond_the_radius_counts(n, k, p):
    weights = banzhaf_weights(n, k, p)
    assert 1 <= weights.radius <= n
    if weights.radius < n:
        assert weights.end - weights.mass[weights.radius] <= 2.0**-53
        assert weights.end - weights.mass[weights.radius - 2] > 2.0**-53
