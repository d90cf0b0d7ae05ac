"""Predictive values over repeats: counted by hand, and a paired test with its nominal error rate, ties included."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from guestlist import Estimate, InputError
from guestlist.metrics import auc, flags_at_fpr
from guestlist.risks import (
    compare_over_repeats,
    compare_risks,
    predictive_value_over_repeats,
    predictive_values,
    read_custom,
    risks_of,
)
from guestlist.risks.predictive_value import mean_of_pairs
from guestlist.testing import leaking_case


@pytest.fixture(scope="module")
def case():
    return leaking_case()


@pytest.fixture(scope="module")
def rows(case):
    return predictive_values(case, attacks=["loss"])


def repeats_with(rows, **aucs):
    """One repeat for each value, in which risks have these AUCs."""
    count = len(next(iter(aucs.values())))
    return [
        [replace(row, auc=Estimate(aucs[row.risk][at], 0, 1)) if row.risk in aucs else row for row in rows]
        for at in range(count)
    ]


def test_mean_and_deviation_by_hand(rows):
    result = predictive_value_over_repeats(repeats_with(rows, mu=[0.6, 0.8, 0.7]))
    assert [(row.risk, row.attack) for row in result] == [(row.risk, "loss") for row in rows]
    mu = next(row for row in result if row.risk == "mu")
    assert mu.auc == pytest.approx((0.7, 0.1, 3))
    assert str(mu.auc) == "0.700 ± 0.100"
    assert mu.precision.n == 0  # it has no threshold
    assert str(mu.precision) == "withheld"


def test_better_worse_and_no_difference(rows):
    rng = np.random.default_rng(0)
    low, high = rng.normal(0.6, 0.02, 8), rng.normal(0.8, 0.02, 8)
    many = repeats_with(rows, mu=high, memorisation=low, risk_score=high[::-1])
    better = compare_over_repeats(many, "mu", "memorisation", "loss")
    assert (better.verdict, better.repeats) == ("better", 8)
    assert better.difference.value == pytest.approx((high - low).mean())
    assert compare_over_repeats(many, "memorisation", "mu", "loss").verdict == "worse"
    assert compare_over_repeats(many, "mu", "risk_score", "loss").verdict == "no difference"
    few = compare_over_repeats(many[:5], "mu", "memorisation", "loss")
    assert (few.verdict, few.difference[1:]) == ("no difference", (-1, 1))  # of 32 flips two are as extreme
    with pytest.raises(InputError, match="risk 'moo' for the attack 'loss'"):
        compare_over_repeats(many, "mu", "moo", "loss")
    with pytest.raises(ValueError, match="metric='accuracy'"):
        compare_over_repeats(many, "mu", "memorisation", "loss", "accuracy")


def test_the_interval_is_what_all_flips_leave():
    gaps = np.random.default_rng(1).normal(0.1, 0.1, 7)
    estimate = mean_of_pairs(gaps)

    def p_value(centre):
        off = gaps - centre
        sums = [abs(sum(s * d for s, d in zip(signs, off, strict=True))) for signs in product((1, -1), repeat=7)]
        return np.mean(np.array(sums) >= abs(off.sum()) - 1e-9)

    for end, out in ((estimate.low, -1e-6), (estimate.high, 1e-6)):
        assert p_value(end + out) <= 0.05 < p_value(end - out)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [pytest.param("normal", marks=pytest.mark.slow), "two values", pytest.param("mostly 0", marks=pytest.mark.slow)],
)
def test_equal_risks_are_seldom_distinguished_over_repeats(law):
    """Student's test of three differences of two values is wrong in a quarter of cases."""
    wrong = []
    for n, number in product((3, 6, 9), range(150)):
        rng = np.random.default_rng([n, number])
        drawn = {
            "normal": rng.normal(0, 0.02, n),
            "two values": rng.choice([-0.1, 0.1], size=n),
            "mostly 0": rng.choice([-0.1, 0, 0.1], p=[0.1, 0.8, 0.1], size=n),
        }
        estimate = mean_of_pairs(drawn[law])
        wrong.append(estimate.low > 0 or estimate.high < 0)
    assert np.mean(wrong) <= 0.05


def test_in_one_audit_aucs_are_compared_against_the_same_calls(case):
    member = case.truth.member
    called = flags_at_fpr(case.scores["loss"], member, 0.05)[member] > 0
    mu, score = (risks_of(case)[name][member] for name in ("mu", "risk_score"))
    comparison = compare_risks(case, "mu", "risk_score", "loss")
    both = ~(np.isnan(mu) | np.isnan(score))
    expected = auc(mu[both], called[both]).value - auc(score[both], called[both]).value
    assert comparison.difference.value == pytest.approx(expected)
    assert comparison.verdict == "worse"  # the score is of what the attack looks at
    compared = compare_risks(case, "mine", "mu", "loss", custom={"mine": case.scores["loss"]})
    assert (compared.verdict, compared.repeats) == ("better", 1)
    with pytest.raises(InputError, match="Risk 'alone_in_leaves' cannot be computed"):
        compare_risks(case, "mu", "alone_in_leaves", "loss")


@pytest.mark.parametrize("step", [0.0, 1.0, 2.5], ids=["fine", "steps", "few values"])
def test_equal_risks_are_seldom_distinguished_in_one_audit(step, case):
    """Two scores that know as much of the calls and share half of what they say."""
    evaluated, member = case.truth.evaluated, case.truth.member_evaluated
    called = np.nan_to_num(flags_at_fpr(case.scores["loss"][evaluated], member, 0.05))
    wrong = []
    for seed in range(150):
        rng = np.random.default_rng([11, seed])
        common, *noises = rng.normal(size=(3, len(called)))
        a, b = (called + common + noise for noise in noises)
        a, b = (np.round(scores / step) if step else scores for scores in (a, b))
        wrong.append(compare_risks(case, "a", "b", "loss", custom={"a": a, "b": b}).verdict != "no difference")
    assert np.mean(wrong) <= 0.08  # 5 %, and what 150 leave open


def test_user_defined_scores_are_an_array_or_by_id(case, tmp_path):
    values = np.random.default_rng(2).normal(size=len(case.records))
    table = pd.DataFrame({"id": case.records["id"], "mine": values, "text": "x"}).sample(frac=1, random_state=0)
    table.to_csv(tmp_path / "own.csv", index=False)
    table.to_parquet(tmp_path / "own.parquet")
    expected = predictive_values(case, ["mu"], ["loss"], custom={"mine": values})
    assert [row.risk for row in expected] == ["all_members", "mu", "mine"]
    for file in ("own.csv", "own.parquet"):
        assert str(predictive_values(case, ["mu"], ["loss"], custom=read_custom(tmp_path / file))) == str(expected)
    for scores, problem in (
        ({"mu": values}, "There is a risk 'mu' already"),
        ({"mine": values[1:]}, "one for each row of case.records"),
        ({"mine": pd.Series([1.0, 2.0], ["r1", "r1"])}, "have the id 'r1' twice"),
        ({"mine": pd.Series([1.0], ["x"])}, "The scores 'mine' have no id of the audit. Ids look like 'r0'"),
    ):
        with pytest.raises(InputError, match=problem):
            predictive_values(case, custom=scores)
    (tmp_path / "bare.csv").write_text("who,mine\na,1\n")
    with pytest.raises(InputError, match="has no column 'id'"):
        read_custom(tmp_path / "bare.csv")
    with pytest.raises(InputError, match=r"own\.txt: expected a \.csv, \.tsv or \.parquet"):
        read_custom(tmp_path / "own.txt")


def test_user_defined_scores_are_numbers_under_a_new_name(tmp_path):
    case = leaking_case(records=60)
    ids = case.records["id"]
    pd.DataFrame({"id": ids, "good": 1.0, "bad": ["n/k"] + ["1"] * 59}).to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(InputError, match=r"Column 'bad' of .* holds 'n/k', which is not a number"):
        read_custom(tmp_path / "bad.csv")
    pd.DataFrame({"id": ids, "flag": np.arange(60) % 2 == 0}).to_csv(tmp_path / "flag.csv", index=False)
    assert read_custom(tmp_path / "flag.csv")["flag"].tolist() == [1.0, 0.0] * 30
    with pytest.raises(InputError, match="There is a risk 'all_members' already"):
        predictive_values(case, custom={"all_members": np.ones(60)})


def test_an_attack_that_was_not_run_is_named():
    case = leaking_case(records=60)
    with pytest.raises(InputError, match=r"Attack 'nope' was not run\. Available names: loss"):
        predictive_values(case, ["mu"], ["nope"])
    with pytest.raises(InputError, match="Attack 'nope' was not run"):
        compare_risks(case, "mu", "memorisation", "nope")
