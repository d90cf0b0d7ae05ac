"""The most exposed members: selected by references, the same in both audits, and reported when they are too few."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates.compare import ATTACK, selected_by_first, two_audits

import guestlist as gl
from guestlist._audit.compare import count_of, most_exposed_in_either, seen_from
from guestlist._audit.comparison import side_of
from guestlist.metrics import proportion_difference


def sides(audits):
    return [side_of(name, results) for name, results in audits.items()]


def test_the_selection_ignores_scores_and_is_symmetric():
    audits = two_audits("smooth", 2000, np.random.default_rng(0), fall=0.5)
    chosen = most_exposed_in_either(*sides(audits))
    assert chosen.sum() == 10
    a, b = sides(audits)
    assert (a.member | ~chosen).all()
    either = np.maximum(a.values("risk_mu"), b.values("risk_mu"))
    assert either[chosen].min() >= either[a.member & ~chosen].max()
    assert np.array_equal(most_exposed_in_either(b, a), chosen)
    other = {
        name: replace(audit, records=audit.records.assign(**{f"score_{ATTACK}": -audit.records[f"score_{ATTACK}"]}))
        for name, audit in audits.items()
    }
    assert np.array_equal(most_exposed_in_either(*sides(other)), chosen)


def test_records_exposed_by_the_second_model_are_among_them():
    audits = two_audits("smooth", 2000, np.random.default_rng(1), fall=0.9)
    for audit, risen in zip(audits.values(), ("r0", "r2"), strict=True):
        audit.records.loc[audit.records["id"] == risen, "risk_mu"] = 99.0
    a, b = sides(audits)
    assert {"r0", "r2"} <= set(a.records.index[most_exposed_in_either(a, b)])


@pytest.mark.slow
def test_chosen_by_their_own_scores_equal_models_would_differ():
    """Regression to the mean; the selection by references is in the null test of all metrics."""
    claims = [selected_by_first(two_audits("mostly equal", 4000, np.random.default_rng(k))) for k in range(6)]
    assert np.mean(claims) > 0.5


@pytest.mark.parametrize(("members", "confidence"), [(5, 0.95), (20, 0.99), (200, 0.993)])
def test_the_detection_limit_is_at_least_the_binomial_one(members, confidence):
    share = seen_from(members, 2000, 0.05, confidence)
    detected = members - round(members * share)
    assert proportion_difference(detected, members, members, members, confidence=confidence).high < 0
    assert share == 1 or seen_from(4 * members, 2000, 0.05, confidence) < share


def test_few_members_show_nothing():
    assert seen_from(3, 1000, 0.05, 0.99) is None
    assert seen_from(50, 10, 0.05, 0.95) is None  # with so few non-members the rate is not resolved
    assert [count_of(n) for n in (0, 20, 149, 500, 12_345)] == [0, 1, 1, 5, 123]
    (comparison,) = gl.compare(two_audits("smooth", 200, np.random.default_rng(2)))
    assert (comparison.most_exposed.members, comparison.most_exposed.seen_from) == (1, None)
