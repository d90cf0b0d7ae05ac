"""Risk by group and class: metrics of a separate computation, no difference by chance, and small groups that are named."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from benchmarks.error_rates.group_risks import mean_risks, rates

from example_results import HOSTILE
from guestlist import Estimate, InputError, Results
from guestlist._findings import groups
from guestlist._report import prose
from guestlist._report.page import page_charts, report_page
from guestlist._report.sections.groups import group_differences, slice_name
from guestlist._views import Rotation
from guestlist.evidence import signals_of_margin
from guestlist.metrics import clustered_proportion, group_means, holm, pearson, threshold_at_fpr, tpr_at_fpr
from guestlist.risks import risks_of
from guestlist.testing import case_of, evaluate_case, leaking_case
from simulated_cases import regression_case


@pytest.fixture(scope="module")
def case():
    """Two columns of groups, one of them with a value that five members have."""
    case = leaking_case(records=800)
    at = np.arange(800)
    table = case.records.assign(group_sex=np.where(at % 3, "m", "f"))
    return replace(case, records=table.assign(group_rare=np.where(at < 12, "t", "u")))


@pytest.fixture(scope="module")
def reported_risks(case):
    return groups.find_group_risks(case)


def test_groups_pairs_and_classes_are_all_there_and_small_ones_are_named(case, reported_risks):
    assert [(group.kind, dict(group.values)) for group in reported_risks.judged[:5]] == [
        ("group", {"half": "first"}),
        ("group", {"half": "second"}),
        ("group", {"sex": "f"}),
        ("group", {"sex": "m"}),
        ("group", {"rare": "u"}),
    ]
    assert {"half": "first", "sex": "f"} in [
        dict(group.values) for group in reported_risks.judged if group.kind == "pair"
    ]
    assert [dict(group.values) for group in reported_risks.judged if group.kind == "class"] == [
        {"label": "0"},
        {"label": "1"},
    ]
    small = reported_risks.small[0]
    assert (small.kind, dict(small.values)) == ("group", {"rare": "t"})
    member = case.truth.member[:12]
    assert (small.members, small.nonmembers) == (member.sum(), (~member).sum())
    assert all(min(group.members, group.nonmembers) < reported_risks.fewest for group in reported_risks.small)
    assert not any(group.values.get("rare") == "t" for group in reported_risks.judged)


def test_metrics_are_those_of_the_records_in_the_group(case, reported_risks):
    part = next(group for group in reported_risks.judged if dict(group.values) == {"half": "first", "sex": "f"})
    here = ((case.records["group_half"] == "first") & (case.records["group_sex"] == "f")).to_numpy()
    member, scores = case.truth.member, case.scores[reported_risks.attack]
    correct = case.view.target("correct")
    assert (part.members, part.nonmembers) == ((here & member).sum(), (here & ~member).sum())
    assert part.tpr == tpr_at_fpr(scores[here], member[here], reported_risks.fpr)
    threshold = threshold_at_fpr(scores[~member], reported_risks.fpr)
    assert part.tpr_at_common.value == pytest.approx((scores[here & member & ~np.isnan(scores)] >= threshold).mean())
    assert part.fpr_at_common == clustered_proportion(scores[here & ~member & ~np.isnan(scores)] >= threshold)
    assert part.gap.value == pytest.approx(correct[here & member].mean() - correct[here & ~member].mean())
    assert 0.5 < part.accuracy.low < part.accuracy.value < 1
    values = risks_of(case)["mu"][member]
    (alone,) = group_means(values, [here[member]])
    (mu,) = [risk for risk in part.risks if risk.risk == "mu"]
    assert (mu.mean, mu.beyond_rest) == (alone.mean, alone.beyond_rest)
    assert mu.p_value >= alone.p_value


def test_two_complementary_groups_count_as_one_test(case):
    computed = groups.by_groups(case, ["sex"], ["mu", "memorisation"])
    f, m = ([risk.p_value for risk in part.risks] for part in computed.judged)
    assert f == m
    member, sex = case.truth.member, (case.records["group_sex"] == "f").to_numpy()
    bounds = {"mu": None, "memorisation": (-1, 1)}
    alone = [group_means(risks_of(case)[n][member], [sex[member]], bounds=b)[0].p_value for n, b in bounds.items()]
    np.testing.assert_allclose(f, holm(np.array(alone)))  # two risks, not two groups of two
    both = groups.by_groups(case, ["sex", "half"], ["mu"])
    kinds = {part.kind for part in both.judged}
    assert kinds == {"group", "pair"}
    (mu,) = {part.risks[0].p_value for part in both.judged if dict(part.values) == {"sex": "f"}}
    assert mu >= min(2 * alone[0], 1.0)


@pytest.mark.slow
def test_persons_make_groups_smaller_and_intervals_wider(case, reported_risks):
    by_ten = replace(case, records=case.records.assign(person=np.arange(800) // 10))
    wider = groups.find_group_risks(by_ten).judged[0]
    assert wider.values == reported_risks.judged[0].values
    for figure in ("tpr", "tpr_at_common", "fpr_at_common", "gap"):
        narrow, other = getattr(reported_risks.judged[0], figure), getattr(wider, figure)
        assert other.high - other.low > narrow.high - narrow.low
    assert len(groups.find_group_risks(by_ten).small) > 0
    (few,) = {group.members for group in groups.find_group_risks(by_ten).small if dict(group.values) == {"rare": "t"}}
    assert few < 10


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_random_groups_do_not_differ(each):
    for law in ("one in fifty is 1", "five steps"):
        means = mean_risks(8, law, number=16, records=800, each=each)
        assert means["claims a difference"] == 0
        assert means["means covered"] >= 0.95
        assert means["differences covered"] >= 0.95


@pytest.mark.slow
def test_a_group_with_more_risk_is_found():
    assert mean_risks(8, "five steps", number=6, records=900, exposed=1.5)["identifies the first group"] >= 0.8


@pytest.mark.slow
def test_rates_at_the_common_threshold_hold_the_truth():
    figures = rates(40, records=600)
    assert figures["tpr_at_common covered"] >= 0.93
    assert figures["fpr_at_common covered"] >= 0.9  # 80 intervals


# -- the gap of classes ------------------------------------------------------------------------------------------------


def by_class(gaps: np.ndarray):
    """One class for each gap: models are right about members more often, the larger the gap of their class is."""
    classes, records = len(gaps), 120 * len(gaps)
    rng, labels = np.random.default_rng(3), np.arange(120 * len(gaps)) % classes
    member = rng.random((9, records)) < 0.5
    # The other classes share what is left, so that a model is right where the margin is above minus the log of their number.
    margin = rng.normal(size=member.shape) - np.log(classes - 1) - 0.2 + 4 * gaps[labels] * member
    case = case_of(Rotation(signals_of_margin(margin, classes), member, labels), ("loss",))
    return replace(case, setting=replace(case.setting, classes=classes))


@pytest.mark.slow
def test_risk_follows_the_gap_of_classes_where_it_does(snapshot):
    case = by_class(np.linspace(0, 0.5, 12))
    gaps = {gap.risk: gap for gap in groups.find_class_gap(case)}
    assert set(gaps) == {"risk_score", "risk_score_own", "loss_tail", "memorisation", "mu"}
    assert all(value.classes == 12 for value in gaps.values())
    assert gaps["mu"].pearson.low > 0.4
    assert gaps["mu"].spearman.low > 0.4
    assert gaps["mu"].significant
    snapshot(prose("groups.gap", gaps["mu"]))
    # Not tested: both are estimated from the same members as the gap.
    assert {name for name, gap in gaps.items() if gap.p_value is None} == {"risk_score_own", "loss_tail"}
    assert "not tested" in prose("groups.gap", gaps["risk_score_own"])
    insignificant = replace(gaps["mu"], p_value=0.06)
    assert not insignificant.significant
    assert "no evidence" in prose("groups.gap", insignificant)
    rows = [group for group in groups.find_group_risks(case).judged if group.kind == "class"]
    expected = np.corrcoef([row.gap.value for row in rows], [row.risks[-1].mean.value for row in rows])[0, 1]
    assert gaps["mu"].pearson.value == pytest.approx(expected)
    assert [row.values["label"] for row in rows] == [str(k) for k in range(12)]  # not 0, 1, 10, 11, 2
    assert groups.find_class_gap(by_class(np.linspace(0, 0.5, 3))) is None


def test_a_p_value_of_the_gap_is_that_of_permuted_classes():
    """Against every order of five classes, of which each sixth is drawn about as often."""
    rng = np.random.default_rng(0)
    pairs = [rng.normal(size=(2, 5)) for _ in range(3)]

    def total(order):
        return sum(np.corrcoef(gap[list(order)], risk)[0, 1] for gap, risk in pairs)

    change = abs(total(range(5)))
    exact = np.mean([abs(total(order)) >= change - 1e-12 for order in permutations(range(5))])
    drawn = groups.permutation_p_value(iter(pairs), np.random.default_rng(1), permutations=4000)
    assert drawn == pytest.approx(exact, abs=0.03)
    missing = [(np.where(np.arange(5) < 2, np.nan, gap), risk) for gap, risk in pairs]
    assert groups.permutation_p_value(iter(missing), np.random.default_rng(1)) is None  # three classes
    assert groups.permutation_p_value(iter([(np.zeros(5), np.arange(5.0))]), np.random.default_rng(1)) is None


@pytest.mark.slow
def test_noise_that_gap_and_risk_share_is_no_correlation():
    """A risk that says no more than whether the target is right follows the gap of the same members, where nothing leaks."""
    rng, claims, by_intervals = np.random.default_rng(0), 0, 0
    number, classes = np.repeat(np.arange(10), 40), 10
    for _ in range(60):
        right, outside = rng.random(400) < 0.7, rng.binomial(40, 0.7, classes) / 40
        halves = [rng.permutation(400) % 2 == 1 for _ in range(4)]
        pairs = groups._pairs(number, right.astype(float), right.astype(float), outside, halves)
        claims += groups.permutation_p_value(pairs, rng, permutations=199) <= 0.05
        gap = right.reshape(10, 40).mean(axis=1) - outside
        by_intervals += pearson(right.reshape(10, 40).mean(axis=1), gap).low > 0
    assert by_intervals > 30
    assert claims <= 8  # 3 expected; 9 or more have a chance of .003


# -- in words ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_names_what_differs_and_what_is_too_small(case, reported_risks, snapshot):
    results = evaluate_case(case)
    made = report_page(results)
    assert results.group_risks == reported_risks
    assert Results.from_document(results.document()).group_risks == reported_risks
    for text in (
        *group_differences(reported_risks),
        prose("groups.too_small", reported_risks, "group"),
        prose("groups.too_small", reported_risks, "pair"),
    ):
        assert text in made
    drawn = page_charts(results)["tpr-groups"]
    lows = [low for low, _ in next(series for series in drawn.series if series.mark).x_ends]
    groups_first = sum(part.kind == "group" for part in reported_risks.judged)
    assert lows[:groups_first] == sorted(lows[:groups_first], reverse=True)
    assert groups_first > 2
    assert "rare = t (" in prose("groups.too_small", reported_risks, "group")
    snapshot(group_differences(reported_risks), "5")
    clear = replace(reported_risks.judged[0].risks[0], p_value=0.003)
    first = replace(reported_risks.judged[0], risks=(clear, *reported_risks.judged[0].risks[1:]))
    texts = group_differences(replace(reported_risks, judged=(first, *reported_risks.judged[1:])))[0]
    snapshot(texts)
    assert "corrected p = 0.003" in texts
    second = replace(reported_risks.judged[0].risks[1], p_value=0.02)
    several = replace(first, risks=(clear, second, *reported_risks.judged[0].risks[2:]))
    texts = group_differences(replace(reported_risks, judged=(several, *reported_risks.judged[1:])))[0]
    assert texts.count("half = first") == 1  # one entry for each group, by the clearest of its risks
    snapshot(texts, "0.003", "1")
    hostile = replace(
        reported_risks, judged=tuple(replace(group, values={HOSTILE: HOSTILE}) for group in reported_risks.judged)
    )
    assert "<script>alert('x')" not in report_page(replace(results, group_risks=hostile))
    assert slice_name(first) == "half = first"


def test_less_risk_is_reported_without_a_sign(case, snapshot):
    group_risks = groups.find_group_risks(case)
    first = group_risks.judged[0]
    less = replace(first.risks[0], beyond_rest=Estimate(-0.03, -0.05, -0.01), p_value=0.004)
    (text, *_) = group_differences(
        replace(group_risks, judged=(replace(first, risks=(less,)), *group_risks.judged[1:]))
    )
    snapshot(text, f"{less.risk}", "0.030", "0.010", "0.050", "0.004")


@pytest.mark.slow
def test_a_risk_with_one_mean_in_all_classes_is_not_spoken_of():
    results = evaluate_case(by_class(np.linspace(0, 0.5, 12)))
    assert any(gap.risk == "loss_tail" and np.isnan(gap.pearson.value) for gap in results.class_gap)
    made = report_page(results)
    assert "the mean of mu rises with the generalisation gap" in made
    assert "the mean of loss_tail" not in made


def test_a_regression_target_has_no_classes_and_no_gap():
    case = regression_case()
    group_risks = groups.find_group_risks(replace(case, records=case.records.assign(group_half=np.arange(200) % 2)))
    assert {group.kind for group in group_risks.judged} == {"group"}
    assert all(group.gap is None for group in group_risks.judged)
    assert all([risk.risk for risk in group.risks] == ["loss_tail"] for group in group_risks.judged)
    assert group_differences(group_risks) == [
        "Of 2 groups, none differs significantly from the rest in the mean of a risk."
    ]


def test_a_group_that_is_not_there_is_an_error(case):
    with pytest.raises(InputError, match="There is no group 'age'; available names: half, sex, rare"):
        groups.by_groups(case, ["age"])
    computed = groups.by_groups(case, ["sex"], ["mu"])
    assert [group.values["sex"] for group in computed.judged] == ["f", "m"]
    assert [risk.risk for risk in computed.judged[0].risks] == ["mu"]
