"""Several records of one person."""

import numpy as np
import pytest
from benchmarks.error_rates.persons import METRICS, coverage
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from guestlist.metrics import (
    ClusterSums,
    CrossFit,
    Resolution,
    advantage,
    auc,
    auc_difference,
    clustered_proportion,
    effective_sizes,
    flag_members,
    placements,
    positive_predictive_value,
    rates_at_level,
    resolution,
    roc_band,
    smallest_detectable_auc,
    tpr_at_fpr,
)
from guestlist.metrics.low_fpr import SortedScores
from guestlist.metrics.ranking import ClusterCodes, auc_variance
from guestlist.selfcheck.simulations import Visits
from simulated_cases import ScoreSimulation

owners = st.lists(st.integers(0, 5), min_size=1, max_size=25)


@pytest.mark.slow
@given(owners, st.randoms(use_true_random=False))
def test_sums_are_added_up_person_by_person(persons, random):
    persons = np.array(persons)
    values = np.array([random.random() for _ in persons])
    cluster_sums = ClusterSums.from_values(values, persons)
    sums = [values[persons == person].sum() for person in set(persons)]
    sizes = [(persons == person).sum() for person in set(persons)]
    assert (cluster_sums.total, cluster_sums.squares, cluster_sums.cross) == pytest.approx(
        (sum(sums), sum(s * s for s in sums), sum(s * m for s, m in zip(sums, sizes, strict=True)))
    )
    assert (cluster_sums.records, cluster_sums.size_squares, cluster_sums.n_clusters) == (
        len(persons),
        sum(m * m for m in sizes),
        len(sizes),
    )


@pytest.mark.slow
@given(owners)
def test_sums_of_any_number_of_flags_are_those_of_the_first_records(persons):
    persons = np.unique(persons, return_inverse=True)[1]
    sums = ClusterSums.from_ranking(persons)
    for count in range(len(persons) + 1):
        cluster_sums = ClusterSums.from_values(np.arange(len(persons)) < count, persons)
        at = sums.at(count)
        assert (at.total, at.squares, at.cross) == (cluster_sums.total, cluster_sums.squares, cluster_sums.cross)
        assert (at.records, at.size_squares, at.n_clusters) == (
            cluster_sums.records,
            cluster_sums.size_squares,
            cluster_sums.n_clusters,
        )


@pytest.mark.parametrize("size", [1, 7])
def test_bounds_are_clopper_pearsons_where_all_records_of_a_person_are_flagged(size):
    for called in range(13):
        wholly = np.repeat(np.arange(12) < called, size)
        estimate = clustered_proportion(wholly, clusters=np.repeat(np.arange(12), size))
        low = beta.ppf(0.025, called, 13 - called) if called else 0.0
        high = beta.ppf(0.975, called + 1, 12 - called) if called < 12 else 1.0
        assert estimate == pytest.approx((called / 12, low, high), abs=1e-9)


def test_bounds_are_quantiles_of_a_mean_with_random_weights():
    # Gaffke's bound itself, by drawing its weights: one for each person, and one for a person called wholly.
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 8, 30)
    counts = rng.binomial(sizes, rng.beta(1, 2, 30))
    called = np.concatenate([np.arange(m) < c for m, c in zip(sizes, counts, strict=True)])
    weights = rng.exponential(size=(200_000, 31))
    for end, value in (("upper", 1.0), ("lower", 0.0)):
        one_more = sizes.mean()
        means = (weights @ np.append(counts, value * one_more)) / (weights @ np.append(sizes, one_more))
        drawn = np.quantile(means, 0.975 if value else 0.025)
        bound = getattr(ClusterSums.from_values(called, np.repeat(np.arange(30), sizes)), end)(0.025)
        assert bound == pytest.approx(drawn, abs=0.01)  # the beta distribution has two of its moments, not all


def test_each_set_bounds_the_share_above_any_score():
    scores, _, persons = Visits(persons=10, uneven=True).draw(np.random.default_rng(1))
    side = SortedScores.from_scores(scores, persons)
    for threshold in (-1.0, 0.3, 5.0):
        count = side.above(threshold)
        assert count == (scores > threshold).sum()
        wanted = clustered_proportion(scores > threshold, clusters=persons, confidence=0.9)
        assert (side.lower(count, 0.05), side.upper(count, 0.05)) == pytest.approx(wanted[1:])


def figures(scores, member, persons):
    other = scores + np.random.default_rng(0).normal(size=len(scores))
    yield auc(scores, member, clusters=persons)
    yield auc_difference(scores, other, member, clusters=persons)
    yield advantage(scores, member, clusters=persons)
    yield advantage(scores, member, 0.5, clusters=persons)
    yield tpr_at_fpr(scores, member, 0.1, clusters=persons)
    yield positive_predictive_value(scores, member, 0.1, 0.3, clusters=persons)
    yield from rates_at_level(np.exp(-np.abs(scores)), member, 0.3, clusters=persons)
    yield roc_band(scores, member, np.array([0.01, 0.1, 0.6]), clusters=persons)
    yield effective_sizes(scores, member, clusters=persons)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_persons_with_one_record_each_are_records(step):
    rng = np.random.default_rng(2)
    scores, member = ScoreSimulation(1.0, step=step).draw(rng, 80, 120)
    order = rng.permutation(200)
    scores, member = scores[order], member[order]
    scores[::11] = np.nan
    names = rng.permutation(200).astype(str)
    for metric, alone in zip(figures(scores, member, names), figures(scores, member, None), strict=True):
        np.testing.assert_allclose(metric, alone, rtol=1e-7, atol=1e-9)


def test_repeated_records_of_a_person_count_as_one():
    # Four copies of each record: all that may differ is how ranks and quantiles round.
    scores, member = ScoreSimulation(1.0).draw(np.random.default_rng(3), 100, 100)
    persons = np.repeat(np.arange(200), 4)
    again, truth = np.repeat(scores, 4), np.repeat(member, 4)
    for figure in (auc, advantage, lambda *a, **k: tpr_at_fpr(*a, 0.1, **k)):
        once, clustered, untold = figure(scores, member), figure(again, truth, clusters=persons), figure(again, truth)
        # Copies tie, and the interval of a TPR is wider at ties.
        tolerance = 0.02 if figure is auc else 0.1
        assert clustered == pytest.approx(once, abs=tolerance)
        assert clustered.high - clustered.low > 1.5 * (untold.high - untold.low)


@pytest.mark.slow
def test_the_variance_of_an_auc_is_that_of_a_bootstrap_over_persons():
    rng = np.random.default_rng(4)
    scores, member, persons = Visits(shift=0.7, persons=30, records=3, uneven=True).draw(rng)
    flipped = rng.random(len(member)) < 0.3  # some have records in both sets
    for truth in (member, member ^ flipped):
        variance = auc_variance(placements(scores, truth), ClusterCodes.split(persons, truth))
        drawn = [auc(scores[rows], truth[rows]).value for rows in resampled(persons, 500, rng)]
        assert np.sqrt(variance.total) == pytest.approx(np.std(drawn), rel=0.15)  # 500 draws: 3.2 % either way


def resampled(persons, draws, rng):
    """Records of the same number of persons, drawn with replacement."""
    records = [np.flatnonzero(persons == person) for person in np.unique(persons)]
    for _ in range(draws):
        yield np.concatenate([records[index] for index in rng.integers(len(records), size=len(records))])


def test_a_person_stays_in_one_half():
    scores, member, persons = Visits(persons=9, uneven=True).draw(np.random.default_rng(5))
    second = CrossFit(seed=1).halves(member, persons)
    assert all(len(set(second[persons == person])) == 1 for person in set(persons))
    assert len(set(persons[second & member])) == 4
    called = flag_members(scores, member, CrossFit(seed=1), clusters=persons)
    assert advantage(scores, member, CrossFit(seed=1), clusters=persons).value == pytest.approx(
        called[member].mean() - called[~member].mean()
    )
    shared = np.where(member, 0, persons)  # a single member cannot be used both to fit and to evaluate
    assert np.isnan(advantage(scores, member, clusters=shared)).all()


def test_rates_are_resolved_by_persons():
    scores, member, persons = Visits(persons=50).draw(np.random.default_rng(6))
    assert np.isnan(tpr_at_fpr(scores, member, 0.01, clusters=persons)).all()
    assert not np.isnan(tpr_at_fpr(scores, member, 0.01)).any()
    assert resolution(0.02, 50) is Resolution.WEAK
    assert not np.isnan(tpr_at_fpr(scores, member, 0.02, clusters=persons)).any()


@pytest.mark.slow
def test_detection_limits_follow_from_effective_sizes():
    simulation = Visits(persons=400)
    sizes = effective_sizes(
        *simulation.draw(np.random.default_rng(7))[:2], clusters=simulation.draw(np.random.default_rng(7))[2]
    )
    # Ranks of normal scores with a correlation of .5 have one of 6 / pi * arcsin(.25): 1 + 9 * .483 = 5.34.
    assert sizes == pytest.approx((4000 / 5.34, 4000 / 5.34), rel=0.15)
    simulation = Visits(persons=60, shift=np.sqrt(2) * 0.26)
    draws = [simulation.draw(np.random.default_rng(k)) for k in range(400)]
    detectable = np.mean([smallest_detectable_auc(*effective_sizes(s, m, clusters=p)) for s, m, p in draws])
    assert detectable == pytest.approx(simulation.auc, abs=0.035)
    power = np.mean([auc(s, m, clusters=p).low > 0.5 for s, m, p in draws])
    assert 0.5 < power < 0.95


def test_persons_must_fit():
    with pytest.raises(ValueError, match=r"Expected clusters \(4,\), one per record, found \(3,\)"):
        auc(np.arange(4.0), np.array([1, 1, 0, 0], dtype=bool), clusters=np.arange(3))
    with pytest.raises(ValueError, match=r"Expected clusters \(4,\)"):
        clustered_proportion(np.ones(4, dtype=bool), clusters=np.arange(3))
    assert np.isnan(clustered_proportion(np.array([], dtype=bool), clusters=np.array([]))).all()


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("simulation", [Visits(), Visits(shift=1.0, uneven=True)], ids=["even", "uneven"])
@pytest.mark.every_third
def test_intervals_cover_where_persons_have_several_records(metric, simulation):
    covered = coverage(simulation, metric, samples=200).with_identifiers
    # At full size, in benchmarks/error_rates, it is at least 93 %. Below this it is not, beyond reasonable doubt.
    assert binom.cdf(round(200 * covered), 200, 0.93) > 0.001


def test_an_auc_that_ignores_persons_would_not_cover():
    assert coverage(Visits(), "auc", samples=300).without_identifiers < 0.75
