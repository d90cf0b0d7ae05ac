"""Lower confidence bounds on epsilon from scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

import oracles_privacy as oracles
from guestlist import InputError
from guestlist.privacy import (
    BayesianRuns,
    Bonferroni,
    ClopperPearson,
    Coins,
    FixedSize,
    GaussianRuns,
    HoldOut,
    Median,
    OneRun,
    OneRunCurve,
    epsilon_lower_bound,
    gaussian_epsilon,
)
from guestlist.privacy.lower_bounds import credible_epsilon, epsilon_of_errors
from guestlist.privacy.one_run import approximate_epsilon, one_run_epsilon, one_run_mu, one_run_p_value

METHODS = (OneRun(), OneRunCurve(), OneRunCurve(curve="gaussian"), ClopperPearson(), GaussianRuns(), BayesianRuns())
THRESHOLDS = (Bonferroni(), HoldOut(), Median(splits=5))


@pytest.mark.parametrize(
    ("records", "guessed", "right", "delta", "epsilon"),
    [
        (1000, 100, 100, 0, 3.4930),
        (1000, 100, 90, 1e-5, 1.6261),
        (1000, 1000, 600, 1e-5, 0.2972),
        (5000, 1000, 950, 1e-5, 2.6965),
    ],
)
def test_one_run_reproduces_published_results(records, guessed, right, delta, epsilon):
    assert one_run_epsilon(records, guessed, right, delta) == pytest.approx(epsilon, abs=1e-4)


@given(st.integers(1, 25), st.data())
def test_the_p_value_is_the_sum_as_it_is_written(guessed, data):
    right, unguessed = data.draw(st.integers(0, guessed)), data.draw(st.integers(0, 20))
    epsilon, delta = data.draw(st.floats(0, 5)), data.draw(st.sampled_from([0, 1e-6, 1e-3, 0.05]))
    p_value = one_run_p_value(guessed + unguessed, guessed, right, epsilon, delta)
    assert p_value == pytest.approx(
        oracles.one_run_p_value(guessed + unguessed, guessed, right, epsilon, delta), abs=1e-10
    )


@settings(max_examples=30)
@given(st.integers(2, 200), st.data())
def test_every_smaller_epsilon_is_refuted_too(guessed, data):
    right, delta = data.draw(st.integers(1, guessed)), data.draw(st.sampled_from([0, 1e-6, 1e-3, 0.02]))
    bound = one_run_epsilon(guessed, guessed, right, delta, 0.05)
    below = [one_run_p_value(guessed, guessed, right, share * bound, delta) for share in np.linspace(0, 0.999, 40)]
    assert not bound or max(below) < 0.05
    assert one_run_p_value(guessed, guessed, right, bound + 1e-6, delta) >= 0.05 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("records", "guessed", "right"), [(24, 24, 20), (30, 16, 16), (24, 24, 24)])
def test_the_curves_bound_is_where_no_distribution_is_left(records, guessed, right):
    """At the bound the most that any distribution of right guesses allows is the level: a linear programme says so too."""
    for delta in (0.0, 0.003):
        epsilon = approximate_epsilon(records, guessed, right, delta, 0.05)
        chances = [
            oracles.largest_chance(oracles.approximate_tangents(e, delta), records, guessed, right)
            for e in (epsilon - 0.01, epsilon + 0.01)
        ]
        assert epsilon > 0.1
        assert chances[0] < 0.05 < chances[1]
    mu = one_run_mu(records, guessed, right, 0.05)
    chances = [
        oracles.largest_chance(oracles.gaussian_tangents(m), records, guessed, right) for m in (mu - 0.02, mu + 0.02)
    ]
    assert chances[0] < 0.05 < chances[1]


def test_one_guess_is_bound_by_the_curve_itself():
    """P[right] = q for one record: a bound at level q is where the curve's best guess is right so often."""
    assert approximate_epsilon(1, 1, 1, 0.0, 0.75) == pytest.approx(np.log(3), abs=1e-4)
    assert one_run_mu(1, 1, 1, float(norm.cdf(0.5))) == pytest.approx(1.0, abs=1e-4)


def test_errors_of_many_runs():
    """Scores without an overlap: 0 of 50 and 0 of 50 wrong, at half the level each."""
    member = np.arange(100) < 50
    rate = 1 - 0.025 ** (1 / 50)
    bound = epsilon_lower_bound(member * 1.0, member, delta=0, method=ClopperPearson(shares=(0.0,)))
    assert bound.epsilon == pytest.approx(np.log((1 - rate) / rate))
    gaussian = epsilon_lower_bound(member * 1.0, member, delta=1e-5, method=GaussianRuns(shares=(0.0,)))
    assert gaussian.epsilon == pytest.approx(gaussian_epsilon(-2 * norm.ppf(rate), 1e-5))
    assert epsilon_of_errors(0.2, 0.05, 0.01) == pytest.approx(np.log((1 - 0.2 - 0.01) / 0.05))
    assert epsilon_of_errors(0.6, 0.6, 0.0) == 0


def test_belief_is_that_of_many_draws():
    rng, draws = np.random.default_rng(0), 400_000
    fpr, fnr = beta.rvs(3.5, 97.5, size=draws, random_state=rng), beta.rvs(20.5, 60.5, size=draws, random_state=rng)
    epsilon = np.maximum(np.log((1 - fnr - 0.01) / fpr), np.log((1 - fpr - 0.01) / fnr))
    assert credible_epsilon(3, 100, 20, 80, 0.01, 0.05) == pytest.approx(np.quantile(epsilon, 0.05), abs=0.01)


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=lambda threshold: type(threshold).__name__)
@pytest.mark.parametrize(
    "bound_method", METHODS, ids=lambda method: f"{type(method).__name__}{getattr(method, 'curve', '')}"
)
def test_distinguished_records_prove_epsilon_and_noise_proves_nothing(bound_method, threshold):
    rng = np.random.default_rng(2)
    member = rng.random(300) < 0.5
    bound = epsilon_lower_bound(member + 0.1 * rng.normal(size=300), member, method=bound_method, threshold=threshold)
    assert 1.5 < bound.epsilon == bound.provable
    noise = epsilon_lower_bound(rng.normal(size=300), member, method=bound_method, threshold=threshold)
    assert noise.epsilon < 0.2
    assert noise.provable == bound.provable


def test_fixed_sizes_pay_for_their_number():
    member = np.arange(300) < 100
    bound = epsilon_lower_bound(member * 1.0, member, delta=0, method=OneRun(FixedSize(), shares=(0.5,)))
    assert bound.epsilon == pytest.approx(one_run_epsilon(200, 100, 100, 0, 0.05 * binom.pmf(100, 200, 0.5)))
    paid = epsilon_lower_bound(member * 1.0, member, delta=0, method=OneRun(Coins(condition=0.5), shares=(0.5,)))
    assert paid.epsilon == pytest.approx(one_run_epsilon(300, 150, 150, 0, 0.025))


@pytest.mark.parametrize(
    "bound_method", METHODS, ids=lambda method: f"{type(method).__name__}{getattr(method, 'curve', '')}"
)
def test_the_order_of_equal_scores_has_no_effect(bound_method):
    """Members first, and all scores equal: a method that breaks ties by the order of records would separate them."""
    member = np.arange(400) < 200
    assert epsilon_lower_bound(np.zeros(400), member, method=bound_method).epsilon < 0.2


def test_records_without_a_score_are_guessed_last():
    member = np.arange(200) < 100
    scores = np.where(np.arange(200) % 2, np.nan, member)
    bound = epsilon_lower_bound(scores, member, delta=0, method=OneRun(shares=(0.5,)))
    assert bound.epsilon == pytest.approx(one_run_epsilon(200, 100, 100, 0, 0.05))
    with pytest.raises(InputError, match="no score"):
        epsilon_lower_bound(scores, member, method=ClopperPearson())


def test_what_is_refused():
    with pytest.raises(InputError, match="same length"):
        epsilon_lower_bound(np.zeros((2, 3)), np.zeros((2, 3), dtype=bool))
    with pytest.raises(InputError, match="found 1"):
        epsilon_lower_bound([1.0], [True])
    with pytest.raises(InputError, match="delta 0"):
        epsilon_lower_bound(np.arange(9), np.arange(9) > 4, delta=0, method=OneRunCurve(curve="gaussian"))
    with pytest.raises(InputError, match="delta 0"):
        epsilon_lower_bound(np.arange(9), np.arange(9) > 4, delta=0, method=GaussianRuns())
    for wrong in (
        lambda: HoldOut(1.0),
        lambda: Median(splits=4),
        lambda: OneRun(shares=()),
        lambda: OneRun(guess="all"),
    ):
        with pytest.raises(ValueError, match="Expected"):
            wrong()


@pytest.mark.parametrize("records", [7, 11, 99])
@pytest.mark.parametrize("bound_method", [OneRun(), OneRunCurve(), OneRun(shares=(1.0,))], ids=repr)
def test_no_record_is_guessed_twice(records, bound_method):
    member = np.arange(records) % 2 == 0
    prepared, *_ = bound_method.prepared(member * 1.0, member)
    assert bound_method.guesses(prepared, member, 1.0)[0] == records - 1
    bound = epsilon_lower_bound(member, member, method=bound_method, delta=0)
    assert bound.epsilon == bound.provable >= 0
