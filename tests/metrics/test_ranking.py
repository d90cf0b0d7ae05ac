import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

import oracles_metrics as oracle
from guestlist.metrics import auc, auc_difference, placements, smallest_detectable_auc
from guestlist.metrics.ranking import delong_variance_parts
from guestlist.testing import interval_coverage
from simulated_cases import ScoreSimulation

lattice_scores = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf]), min_size=2, max_size=30)


@pytest.mark.slow
@given(lattice_scores, st.randoms(use_true_random=False))
def test_auc_is_mann_whitney_pair_by_pair_under_heavy_ties(scores, random):
    scores = np.array(scores)
    member = np.array([random.random() < 0.5 for _ in scores])
    member[:2] = True, False
    estimate = auc(scores, member)
    assert estimate.value == pytest.approx(oracle.auc(scores, member), abs=1e-12)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high
    reverse = auc(-scores, member)
    assert (1 - reverse.high, 1 - reverse.low) == pytest.approx((estimate.low, estimate.high), abs=1e-9)


def test_a_constant_score_has_auc_0_5_and_a_wide_interval():
    estimate = auc(np.full(200, 3.0), np.arange(200) < 70)
    assert estimate.value == 0.5
    assert estimate.low < 0.5 < estimate.high


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_delong_variance_is_that_of_structural_components(step):
    rng = np.random.default_rng(5)
    a, member = ScoreSimulation(1.0, step=step).draw(rng, 25, 40)
    b = ScoreSimulation(0.0, step=step).on_lattice(a + rng.normal(size=a.shape))
    place_a, place_b = placements(a, member), placements(b, member)
    assert sum(delong_variance_parts(place_a)) == pytest.approx(oracle.delong_covariance(a, a, member), rel=1e-9)
    gap = type(place_a)(place_a.member - place_b.member, place_a.nonmember - place_b.nonmember)
    expected = (
        oracle.delong_covariance(a, a, member)
        + oracle.delong_covariance(b, b, member)
        - 2 * oracle.delong_covariance(a, b, member)
    )
    assert sum(delong_variance_parts(gap)) == pytest.approx(expected, rel=1e-9)


def test_the_interval_is_delongs_in_log_odds_and_the_paired_one_is_plain():
    rng = np.random.default_rng(6)
    a, member = ScoreSimulation(1.0).draw(rng, 4000, 6000)
    b = a + rng.normal(size=a.shape)
    estimate, difference = auc(a, member), auc_difference(a, b, member)
    # With thousands of records Student's quantile is within a thousandth of the normal one.
    error = np.sqrt(sum(delong_variance_parts(placements(a, member))))
    half = 1.96 * error / (estimate.value * (1 - estimate.value))
    assert logit(estimate.high) - logit(estimate.value) == pytest.approx(half, rel=2e-3)
    assert logit(estimate.value) - logit(estimate.low) == pytest.approx(half, rel=2e-3)
    assert difference.value == pytest.approx(estimate.value - auc(b, member).value, abs=1e-12)
    assert difference.high - difference.value == pytest.approx(difference.value - difference.low, rel=1e-9)


def test_perfect_separation_leaves_what_disjoint_pairs_leave():
    scores, member = np.arange(100.0), np.arange(100) >= 70
    assert auc(scores, member) == pytest.approx((1, 0.025 ** (1 / 30), 1))
    assert auc(-scores, member) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 30)))
    assert auc_difference(scores, scores**3, member) == pytest.approx((0, 0.025 ** (1 / 30) - 1, 1 - 0.025 ** (1 / 30)))
    assert auc_difference(scores, -scores, member).value == 1


@pytest.mark.parametrize("gaps", [slice(0, 0), slice(None, None, 7), slice(3, None, 7), slice(None, None, 14)])
def test_known_placements_change_no_difference(gaps):
    rng = np.random.default_rng(2)
    scores, member = ScoreSimulation(1.0).draw(rng, 30, 30)
    other = scores + rng.normal(size=60)
    scores[::7] = np.nan
    other[gaps] = np.nan
    placed = [placements(values[~np.isnan(values)], member[~np.isnan(values)]) for values in (scores, other)]
    expected = auc_difference(scores, other, member)
    assert auc_difference(scores, other, member, placed_a=placed[0], placed_b=placed[1]) == expected
    assert auc(scores, member, placed=placed[0]) == auc(scores, member)


def test_unscored_records_are_omitted_and_one_class_is_withheld():
    rng = np.random.default_rng(0)
    scores, member = ScoreSimulation(1.0).draw(rng, 30, 30)
    holes, partner = scores.copy(), scores + rng.normal(size=60)
    holes[::7] = np.nan
    scored = ~np.isnan(holes)
    assert auc(holes, member) == auc(scores[scored], member[scored])
    assert auc_difference(partner, holes, member) == auc_difference(partner[scored], scores[scored], member[scored])
    assert np.isnan(auc(scores[member], member[member])).all()
    assert np.isnan(auc_difference(holes * np.nan, scores, member)).all()
    assert not np.isnan(auc(scores[29:], member[29:])).any()  # a single member
    with pytest.raises(ValueError, match="Expected confidence=95"):
        auc(scores, member, confidence=95)
    with pytest.raises(ValueError, match="found"):
        auc(scores[1:], member)


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, 1.5])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("members", "nonmembers"), [(20, 20), (10, 30), (20, 380), (1000, 1000)])
@pytest.mark.every_third
def test_auc_interval_covers(members, nonmembers, level, step):
    simulation = ScoreSimulation.of_auc(level, step=step)
    truth = simulation.auc
    share = interval_coverage(lambda rng: (auc(*simulation.draw(rng, members, nonmembers)), truth), simulations=1000)
    assert 0.93 <= share <= 0.999


@pytest.mark.slow
def test_auc_interval_covers_when_member_scores_have_a_larger_variance():
    simulation = ScoreSimulation.of_auc(0.9, stretch=3.0)
    share = interval_coverage(lambda rng: (auc(*simulation.draw(rng, 200, 200)), simulation.auc), simulations=2000)
    assert 0.93 <= share <= 0.999


def attack_pair(rng, aucs, correlation, members, nonmembers, step):
    """Scores of two attacks whose noises are correlated, and the true difference of their AUCs."""
    first, two = (ScoreSimulation.of_auc(level, step=step) for level in aucs)
    member = np.arange(members + nonmembers) < members
    noise, other = rng.normal(size=(2, len(member)))
    other = correlation * noise + np.sqrt(1 - correlation**2) * other
    scores = first.on_lattice(noise + first.shift * member), two.on_lattice(other + two.shift * member)
    return auc_difference(*scores, member), first.auc - two.auc


@pytest.mark.slow
@pytest.mark.parametrize("aucs", [(0.5, 0.5), (0.9, 0.7)])
@pytest.mark.parametrize(("size", "correlation", "step"), [(20, 0.0, 0.0), (100, 0.5, 1.0), (500, 0.9, 0.0)])
@pytest.mark.every_third
def test_paired_difference_covers(size, correlation, step, aucs):
    share = interval_coverage(lambda rng: attack_pair(rng, aucs, correlation, size, size, step), simulations=1000)
    assert 0.93 <= share <= 0.999


@pytest.mark.slow
@pytest.mark.parametrize("aucs", [(0.99, 0.99), (0.999, 0.97)])
@pytest.mark.parametrize(("size", "correlation"), [(20, 0.5), (500, 1.0)])
@pytest.mark.every_third
def test_paired_difference_covers_near_perfect_separation(size, correlation, aucs):
    # No upper limit here: the room left for pairs that were not seen makes the interval cover up to 100 %.
    share = interval_coverage(lambda rng: attack_pair(rng, aucs, correlation, size, size, 0.0), simulations=1000)
    assert share >= 0.93


@pytest.mark.slow
def test_smallest_detectable_auc_is_detected_in_four_of_five_audits():
    members, nonmembers = 150, 300
    simulation = ScoreSimulation.of_auc(smallest_detectable_auc(members, nonmembers))
    power = np.mean(
        [auc(*simulation.draw(np.random.default_rng(k), members, nonmembers)).low > 0.5 for k in range(1500)]
    )
    assert 0.76 < power < 0.84
