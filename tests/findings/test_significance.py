"""Significance after correction for multiple testing: claims are rare where nothing leaks, and made where something does."""

import numpy as np
import pytest

from guestlist._findings import significance
from guestlist._findings.significance import (
    SHARES,
    SIGNIFICANCE_LEVEL,
    adjusted_p,
    attack_p_values,
    group_p_values,
    is_significant,
)
from guestlist._kernels import min_p_values, permutation_p_values
from guestlist.metrics import auc

RATES = (0.05,)


def several(rng, records, common=0.5, attacks=12, shift=0.0, member=None):
    """Scores of attacks that resemble each other, one of them 0 or 1; the last one sees a shift."""
    shared = rng.normal(size=records)
    scores = {f"a{i}": common * shared + (1 - common**2) ** 0.5 * rng.normal(size=records) for i in range(attacks)}
    scores["a1"] = (scores["a1"] > 0).astype(float)
    if member is not None:
        scores[f"a{attacks - 1}"] = rng.normal(size=records) + shift * member
    return scores


def judged(scores, member, rng, persons=None, file_holder=None):
    """Every metric is tested, whether its own interval excludes chance or not."""
    every = frozenset((name, fpr) for name in scores for fpr in (None, *RATES))
    family = significance.TestFamily(
        scores, dict.fromkeys(scores, RATES), ("a0", *filter(None, [file_holder])), every, below=True
    )
    return attack_p_values(family, member, rng, persons)


def claimed(p_values):
    return any(p <= SIGNIFICANCE_LEVEL for p in (*p_values.auc.values(), *p_values.rates.values(), p_values.reversed))


def test_the_error_is_spent_once():
    assert sum(SHARES.values()) == pytest.approx(1)
    assert adjusted_p(SIGNIFICANCE_LEVEL * SHARES["headline"], "headline") == pytest.approx(SIGNIFICANCE_LEVEL)
    assert adjusted_p(0.9, "others", 3) == 1
    assert is_significant(None)
    assert is_significant(SIGNIFICANCE_LEVEL)
    assert not is_significant(0.06)


def test_two_headline_rows_divide_the_error_of_the_headline():
    member = np.arange(200) < 100
    scores = several(np.random.default_rng(5), 200, common=0.0, shift=0.6, member=member)
    scores["a0"] = scores["a11"]
    without, two = (judged(scores, member, np.random.default_rng(6), file_holder=name) for name in (None, "a11"))
    assert two.auc["a0"] == two.auc["a11"] == pytest.approx(2 * without.auc["a0"])
    assert two.rates["a0", 0.05] == pytest.approx(min(1.0, 2 * without.rates["a0", 0.05]))
    assert without.auc["a11"] > two.auc["a11"]  # it no longer is one of the others
    assert two.auc["a2"] <= without.auc["a2"]


@pytest.mark.slow
@pytest.mark.parametrize("file_holder", [None, "a5"])
def test_where_nothing_leaks_hardly_anything_is_claimed(monkeypatch, file_holder):
    monkeypatch.setattr(significance, "DRAWS", 399)
    rng, member = np.random.default_rng(0), np.arange(120) < 60
    simulations, claims, apart = 150, 0, 0
    for _ in range(simulations):
        scores = several(rng, 120)
        claims += claimed(judged(scores, member, rng, file_holder=file_holder))
        apart += any(not e.low <= 0.5 <= e.high for e in (auc(values, member) for values in scores.values()))
    assert apart / simulations > 0.2  # each attack by its own interval
    assert claims / simulations <= 0.08  # at most 5 %, and the error of 150 simulations


def test_a_strong_attack_among_many_is_significant():
    rng = np.random.default_rng(1)
    member = np.arange(200) < 100
    p_values = judged(several(rng, 200, shift=1.0, member=member), member, rng)
    assert p_values.auc["a11"] <= SIGNIFICANCE_LEVEL
    assert p_values.rates["a11", 0.05] <= SIGNIFICANCE_LEVEL
    assert p_values.auc["a2"] > SIGNIFICANCE_LEVEL
    mirrored = {name: -values for name, values in several(rng, 200).items()} | {"a0": -rng.normal(size=200) - member}
    assert judged(mirrored, member, rng).reversed <= SIGNIFICANCE_LEVEL


def test_an_attack_is_judged_among_all_but_the_headline():
    """The same AUC is less significant among many others, and the headline's does not depend on their number."""
    member = np.arange(200) < 100
    scores = several(np.random.default_rng(2), 200, attacks=20)
    scores["a0"] = scores["a19"] = np.random.default_rng(7).normal(size=200) + 0.5 * member
    few = {name: scores[name] for name in ("a0", "a19")}
    many, two = (judged(chosen, member, np.random.default_rng(3)) for chosen in (scores, few))
    assert many.auc["a0"] == two.auc["a0"]
    assert many.auc["a19"] > two.auc["a19"] > two.auc["a0"]


def test_without_other_attacks_or_rates():
    member = np.arange(40) < 20
    family = significance.TestFamily({"a0": member * 1.0}, {"a0": ()}, ("a0",), frozenset({("a0", None)}), below=False)
    p_values = attack_p_values(family, member, np.random.default_rng(0))
    assert p_values.auc["a0"] == pytest.approx(1 / SHARES["headline"] / (significance.DRAWS + 1))
    assert (p_values.rates, p_values.reversed) == ({}, None)


def test_significance_is_computed_only_for_possible_claims():
    """And then about all metrics of which it is the best."""
    rng, member = np.random.default_rng(6), np.arange(100) < 50
    scores = several(rng, 100, attacks=5)
    rates = dict.fromkeys(scores, RATES)
    assert attack_p_values(
        significance.TestFamily(scores, rates, ("a0",), frozenset(), below=False), member, rng
    ) == significance.AdjustedPValues({}, {}, None)
    some = significance.TestFamily(scores, rates, ("a0",), frozenset({("a3", None), ("a0", 0.05)}), below=False)
    p_values = attack_p_values(some, member, np.random.default_rng(0))
    every = judged(scores, member, np.random.default_rng(0))
    assert p_values.auc == every.auc  # the AUC and the TPRs of the headline are tested together
    assert p_values.rates == {("a0", 0.05): every.rates["a0", 0.05]}


def test_metrics_in_different_units_are_compared_by_their_own_p_values():
    rng = np.random.default_rng(0)
    observed, drawn = np.array([3.0, 0.0]), np.stack([rng.normal(size=999), 1000 * rng.normal(size=999)])
    p_values = permutation_p_values(observed, drawn)
    assert p_values[0, 0] == (1 + (drawn[0] >= 3.0).sum()) / 1000
    # By hand: a permutation counts where either of its p-values is at most the observed one.
    either = (p_values <= p_values[0, 0]).any(axis=0).mean()
    assert min_p_values(p_values)[0] == either
    assert min_p_values(p_values, np.array([3.0, 1.0]))[0] < either
    assert min_p_values(p_values)[1] > 0.5


@pytest.mark.slow
def test_a_few_memorised_records_are_claimed(monkeypatch):
    """2% of 900 members have the highest scores: a TPR of 3% at an FPR of 1%, and an AUC of 0.51."""
    monkeypatch.setattr(significance, "DRAWS", 499)
    member = np.arange(1800) < 900
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=1800)
        scores[:900][rng.random(900) < 0.02] += 6
        family = significance.TestFamily(
            {"a0": scores}, {"a0": (0.01, 0.05)}, ("a0",), frozenset({("a0", 0.01)}), below=False
        )
        claims += attack_p_values(family, member, rng).rates["a0", 0.01] <= SIGNIFICANCE_LEVEL
    assert claims >= 32


@pytest.mark.slow
def test_persons_are_permuted_as_a_whole(monkeypatch):
    """Ten records of each person that resemble each other: taken one by one, they would look like a leak."""
    monkeypatch.setattr(significance, "DRAWS", 399)
    rng, persons = np.random.default_rng(4), np.repeat(np.arange(40), 10)
    member = persons < 20
    by_person = by_record = 0
    for _ in range(100):
        scores = {"a0": rng.normal(size=40)[persons] + rng.normal(size=400)}
        by_person += judged(scores, member, rng, persons).auc["a0"] <= SIGNIFICANCE_LEVEL
        by_record += judged(scores, member, rng).auc["a0"] <= SIGNIFICANCE_LEVEL
    assert by_person <= 8  # 2.6 expected
    assert by_record > 15


@pytest.mark.slow
def test_groups_keep_their_members_and_pay_for_each_other(monkeypatch):
    monkeypatch.setattr(significance, "DRAWS", 999)
    rng = np.random.default_rng(5)
    strata = np.repeat(np.arange(10), 40)
    member = rng.random(400) < np.where(strata == 0, 0.9, 0.5)  # sides are unequal in one group
    masks = [strata == g for g in range(10)]
    named = 0
    for _ in range(60):
        p_values = group_p_values(rng.normal(size=400), member, masks, strata, 1, rng)
        named += bool((p_values <= SIGNIFICANCE_LEVEL).any())
    assert named <= 2  # 0.75 % each
    exposed = rng.normal(size=400) + 2 * (member & (strata == 3))
    p_values = group_p_values(exposed, member, masks, strata, 1, rng)
    assert p_values.argmin() == 3
    assert list(np.flatnonzero(p_values <= SIGNIFICANCE_LEVEL)) == [3]
    assert group_p_values(exposed, member, masks, strata, 4, np.random.default_rng(0))[3] == pytest.approx(
        4 * group_p_values(exposed, member, masks, strata, 1, np.random.default_rng(0))[3]
    )
