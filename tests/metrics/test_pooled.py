import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm, t

import oracles_metrics as oracle
from guestlist.metrics import auc, pooled_auc, pooled_tpr_at_fpr, tpr_at_fpr
from guestlist.metrics.pooled import _checked, _Tails
from guestlist.testing import interval_coverage


def simulated_targets(rng, targets=8, records=400, shift=0.5, target_sd=0.3, record_sd=0.5, size=1):
    """Scores (targets, records): each target lifts its members by an amount of its own.

    Records have an effect that all targets see. Over fresh targets and records, a member's score is normal
    with mean ``shift`` and variance 1 + record_sd² + target_sd², a non-member's with mean 0 and variance
    1 + record_sd²: the truths below. A person's ``size`` records share membership and effect.
    """
    member = np.repeat(rng.random((targets, records // size)) < 0.5, size, axis=1)
    lift = shift + target_sd * rng.normal(size=(targets, 1))
    record = np.repeat(rng.normal(size=records // size), size)
    return lift * member + record_sd * record + rng.normal(size=member.shape), member


def true_auc(shift=0.5, target_sd=0.3, record_sd=0.5):
    return float(norm.cdf(shift / np.sqrt(2 + 2 * record_sd**2 + target_sd**2)))


def true_tpr(fpr, shift=0.5, target_sd=0.3, record_sd=0.5):
    quantile = norm.isf(fpr) * np.sqrt(1 + record_sd**2)
    return float(norm.sf(quantile, shift, np.sqrt(1 + record_sd**2 + target_sd**2)))


def test_value_is_the_mean_of_pairwise_aucs_under_ties_and_holes():
    scores, member = simulated_targets(np.random.default_rng(0), targets=3, records=30)
    scores = np.round(scores)
    scores[:, ::7] = np.nan
    assert pooled_auc(scores, member).value == pytest.approx(oracle.pooled_auc(scores, member), abs=1e-12)


def test_tpr_is_that_of_one_threshold_for_all_pairs():
    scores, member = simulated_targets(np.random.default_rng(0), targets=4, records=100)
    for step in (0.01, 1.0):
        rounded = step * np.round(scores / step)
        rounded[1, 5:9] = np.nan
        for fpr in (0.01, 0.1, 0.5, 1.0):
            expected = tpr_at_fpr(rounded.ravel(), member.ravel(), fpr).value
            assert pooled_tpr_at_fpr(rounded, member, fpr, draws=10).value == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("fpr", [0.02, 0.6])
def test_weighted_tpr_is_that_of_repeated_records(fpr):
    rng = np.random.default_rng(3)
    scores, member = simulated_targets(rng, targets=3, records=300)
    scores = np.round(scores, 1)
    weights = rng.integers(0, 4, size=(20, 300))
    tails = _Tails.from_pairs(_checked(scores, member, None), fpr)
    for weight, estimate in zip(weights, tails.tpr(weights, by_target=False), strict=True):
        records = np.repeat(np.arange(300), weight)
        assert estimate == oracle.tpr_at_fpr(scores[:, records].ravel(), member[:, records].ravel(), fpr)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_variance_due_to_records_is_that_of_a_bootstrap(size):
    rng = np.random.default_rng(1)
    # Two copies of one target: nothing is due to targets or to single pairs, all of it to records.
    scores, member = simulated_targets(rng, targets=1, records=90, record_sd=1.0, size=size)
    scores, member = np.repeat(scores, 2, axis=0), np.repeat(member, 2, axis=0)
    persons = np.repeat(np.arange(90 // size), size)
    estimate = pooled_auc(scores, member, clusters=persons)
    spread = estimate.value * (1 - estimate.value) * (logit(estimate.high) - logit(estimate.value))
    drawn = oracle.resampled_pooled_auc(scores[:1], member[:1], persons, draws=400, rng=rng)
    assert spread / t.ppf(0.975, 1) == pytest.approx(drawn.std(), rel=0.12)  # 400 draws: 3.5 % either way


def test_persons_widen_the_interval_when_records_repeat():
    scores, member = simulated_targets(np.random.default_rng(2), records=200)
    scores, member = np.repeat(scores, 4, axis=1), np.repeat(member, 4, axis=1)
    persons = np.repeat(np.arange(200), 4)
    for figure in (pooled_auc, lambda *a, **k: pooled_tpr_at_fpr(*a, 0.05, **k)):
        alone, together = figure(scores, member), figure(scores, member, clusters=persons)
        once = figure(scores[:, ::4], member[:, ::4])
        assert together.high - together.low > alone.high - alone.low
        assert together[1:] == pytest.approx(once[1:], abs=0.02)


def test_unanimous_targets_do_not_collapse():
    member = np.tile(np.arange(40) < 20, (8, 1))
    assert pooled_auc(member * 1.0, member) == pytest.approx((1, 0.025 ** (1 / 8), 1))
    assert pooled_auc(member * -1.0, member) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 8)))
    constant = pooled_auc(member * 0.0, member)
    assert constant.value == 0.5
    assert constant.low < 0.4 < 0.6 < constant.high
    low_tpr = pooled_tpr_at_fpr(member * -1.0, member, 0.05)
    assert low_tpr[:2] == (0, 0)
    assert 0.1 < low_tpr.high < 0.5


def test_refuses_and_withholds():
    scores, member = simulated_targets(np.random.default_rng(0), targets=2, records=20)
    with pytest.raises(ValueError, match="at least 2 targets"):
        pooled_auc(scores[:1], member[:1])
    with pytest.raises(ValueError, match="targets, records"):
        pooled_auc(scores, member[:1])
    with pytest.raises(ValueError, match="Expected clusters"):
        pooled_auc(scores, member, clusters=np.arange(3))
    assert np.isnan(pooled_auc(scores, member & [[True], [False]])).all()
    assert np.isnan(pooled_tpr_at_fpr(scores, member, 0.001)).all()


SETTINGS = [
    {},
    {"shift": 2.5, "record_sd": 0.0},
    {"shift": 0.0, "target_sd": 0.0},
    {"targets": 3},
    {"targets": 16, "records": 100, "record_sd": 1.0},
]


def effects(options):
    return {name: value for name, value in options.items() if name not in ("targets", "records", "size")}


@pytest.mark.slow
@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.every_third
def test_pooled_auc_covers(options):
    def estimate(rng):
        return pooled_auc(*simulated_targets(rng, **options)), true_auc(**effects(options))

    assert 0.93 <= interval_coverage(estimate, simulations=1000) <= 0.999


@pytest.mark.slow
def test_pooled_auc_covers_records_of_persons_only_with_clusters():
    # All targets have the same members, four per person, so that a person's effect does not average out.
    truth = true_auc(target_sd=0.1, record_sd=1.0)
    persons = np.repeat(np.arange(50), 4)

    def estimate(rng, persons):
        member = np.tile(np.repeat(rng.random(50) < 0.5, 4), (8, 1))
        record = np.repeat(rng.normal(size=50), 4)
        lift = 0.5 + 0.1 * rng.normal(size=(8, 1))
        return pooled_auc(lift * member + record + rng.normal(size=(8, 200)), member, clusters=persons), truth

    assert 0.93 <= interval_coverage(lambda rng: estimate(rng, persons), simulations=1000) <= 0.999
    assert interval_coverage(lambda rng: estimate(rng, None), simulations=300) < 0.9


@pytest.mark.slow
def test_delong_on_pooled_pairs_would_not_cover():
    def estimate(rng):
        scores, member = simulated_targets(rng)
        return auc(scores.ravel(), member.ravel()), true_auc()

    assert interval_coverage(estimate, simulations=500) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fpr", "options"), [(0.01, {}), (0.05, {"shift": 2.5}), (0.05, {"target_sd": 0.0, "record_sd": 1.0})]
)
@pytest.mark.every_third
def test_pooled_tpr_covers(options, fpr):
    def estimate(rng):
        interval = pooled_tpr_at_fpr(*simulated_targets(rng, **options), fpr, draws=100)
        return interval, true_tpr(fpr, **effects(options))

    assert 0.93 <= interval_coverage(estimate, simulations=300) <= 0.999
