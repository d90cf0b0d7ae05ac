"""Wording follows the intervals: each case states its conclusion, and none states more than was measured."""

import math
import re
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.states import state

from example_results import at_chance, leaking, predictions_only, quiet, with_check, with_finding, with_headline
from guestlist import Estimate
from guestlist._case import Check
from guestlist._findings.exposure import ExposedPerson, Exposure
from guestlist._findings.records import ExposureSummary
from guestlist._report import prose, terminal, wording
from guestlist._report.page import report_page
from guestlist._report.sections import answer, facts, groups, headline
from guestlist._report.terminal import fragment
from guestlist._util import interval, interval_in_people, people_base, percent
from guestlist.metrics import WITHHELD

summary = partial(terminal.summary, verbose=True)


def reversed_sides():
    return with_headline(quiet(), auc=Estimate(0.4, 0.35, 0.45))


def unmeasured():
    base = quiet()
    rates = tuple(replace(rate, tpr=WITHHELD) for rate in wording.headline_attack(base).rates)
    return with_headline(base, auc=WITHHELD, advantage=WITHHELD, rates=rates, unscored=600)


def other_attack():
    return with_finding(quiet(), "entropy", auc=Estimate(0.6, 0.55, 0.65))


def few_at_low_fpr():
    base = quiet()
    rates = tuple(
        replace(r, tpr=Estimate(0.05, 0.03, 0.08)) if r.fpr == 0.01 else r for r in wording.headline_attack(base).rates
    )
    return with_headline(base, rates=rates)


def on_average_only():
    base = leaking()
    return with_headline(base, rates=at_chance(wording.headline_attack(base)).rates)


CASES = (
    leaking,
    quiet,
    predictions_only,
    reversed_sides,
    unmeasured,
    other_attack,
    few_at_low_fpr,
    on_average_only,
)
VISIBLE = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)


def everything(results) -> str:
    """All that any form lets a person read."""
    return "\n".join([summary(results), *(VISIBLE.sub(" ", form(results)) for form in (fragment, report_page))])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_ever_called_safe(case):
    assert not re.search(r"\bsafe", everything(case()), re.IGNORECASE)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_sizes_and_the_lower_bound_are_always_reported(case):
    results = case()
    for text in (summary(results), fragment(results), report_page(results)):
        sentence = " ".join(text.split())
        assert f"{results.subject.members:,} members" in sentence
        assert f"{results.subject.nonmembers:,} non-members" in sentence
        assert "lower bound" in sentence
        assert ("reference models trained" in sentence) == (results.references is not None)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (leaking, "many"),
        (quiet, "no evidence"),
        (predictions_only, "slight"),
        (reversed_sides, "unclear"),
        (unmeasured, "not measured"),
        (other_attack, "signs"),
        (few_at_low_fpr, "some"),
        (on_average_only, "on average"),
    ],
)
def test_the_verdict_begins_with_the_evidence(case, expected, snapshot):
    verdict = answer.verdict_text(case())
    assert state(verdict) == expected
    snapshot(verdict)


@pytest.mark.slow
def test_an_average_leak_does_not_single_people_out(snapshot):
    snapshot(answer.verdict_text(on_average_only()))
    snapshot(answer.verdict_text(leaking()))


def test_the_resolution_of_rates_counts_persons_where_they_are_known(snapshot):
    results = quiet()
    results = replace(results, subject=replace(results.subject, member_persons=30, nonmember_persons=40))
    text = " ".join(facts.detection_limits(results))
    snapshot(text, "30", "40", "10,000")


@pytest.mark.slow
def test_no_evidence_comes_with_the_detection_limit(snapshot):
    results = quiet()
    sentence = " ".join(facts.detection_limits(results))
    snapshot(sentence, "80%", f"{wording.headline_attack(results).detectable_auc:.3f}")
    for rate in wording.headline_attack(results).rates:
        if rate.resolution != "withheld":
            assert percent(rate.detectable) in sentence
            assert percent(rate.fpr) in sentence
    snapshot(sentence, "0.1%", "10,000", "1%", "3", "300")
    for text in (summary(results), fragment(results), report_page(results)):
        assert f"80% power to detect an AUC of {wording.headline_attack(results).detectable_auc:.3f}" in " ".join(
            text.split()
        )
    assert f"{wording.headline_attack(results).detectable_auc:.3f}" in answer.verdict_text(results)


def test_a_rate_without_power_is_reported(snapshot):
    base = quiet()
    blind = tuple(replace(rate, detectable=math.nan) for rate in wording.headline_attack(base).rates)
    text = " ".join(facts.detection_limits(with_headline(base, rates=blind)))
    snapshot(text, "1%", "5%")


def test_another_attack_that_succeeds_is_named_with_its_interval_and_the_doubt(snapshot):
    text = answer.verdict_text(other_attack())
    snapshot(text, "entropy", "0.600", "0.550", "0.650", "9")
    assert "by chance" in text


def test_another_attack_that_succeeds_only_at_a_low_fpr_is_named(snapshot):
    base = quiet()
    rates = tuple(replace(r, tpr=Estimate(0.12, 0.07, 0.2)) if r.fpr == 0.05 else r for r in base.attack("loss").rates)
    text = answer.verdict_text(with_finding(base, "loss", rates=rates))
    snapshot(text, "loss", "5%", "12%", "7%", "20%")


def test_touching_chance_is_not_a_finding():
    edge = with_headline(quiet(), auc=Estimate(0.55, 0.5, 0.6))
    assert not wording.headline_attack(edge).beats_guessing
    assert wording.headline_attack(with_headline(edge, auc=Estimate(0.55, 0.5001, 0.6))).beats_guessing


@pytest.mark.slow
def test_the_most_clearly_exposed_group_is_named(snapshot):
    results = leaking()
    top = max(results.groups, key=lambda group: group.auc.low)
    named = f"is {top.group} = {top.value}: the headline attack has AUC {top.auc.value:.3f}"
    assert named in prose("groups.exposed", results)
    snapshot(prose("groups.exposed", quiet()), "6")
    assert prose("groups.exposed", predictions_only()) == ""


@pytest.mark.slow
def test_a_group_differs_only_if_its_difference_is_significant(snapshot):
    results = leaking()
    group = replace(results.groups[0], p_value=0.001)
    apart = replace(group, beyond_rest=Estimate(0.12, 0.02, 0.2))
    snapshot(prose("groups.exposed", replace(results, groups=(apart,))), "0.120", "0.020", "0.200")
    alike = replace(group, beyond_rest=Estimate(0.12, -0.02, 0.25))
    snapshot(prose("groups.exposed", replace(results, groups=(alike,))))
    whole = replace(group, beyond_rest=WITHHELD)  # there are no other records
    assert "other records" not in prose("groups.exposed", replace(results, groups=(whole,)))


def test_the_stated_order_of_groups_is_their_order():
    """A small group with a larger AUC and a wider interval comes later."""
    results = leaking()
    sure, wide = replace(results.groups[0], auc=Estimate(0.843, 0.8, 0.88)), results.groups[1]
    wide = replace(wide, auc=Estimate(0.87, 0.7, 0.95))
    chart = groups.groups_section(replace(results, groups=(wide, sure))).charts["groups-0"]
    (dots,) = (series for series in chart.series if series.mark)
    assert dots.x == (0.843, 0.87)
    assert dots.x_ends == ((0.8, 0.88), (0.7, 0.95))


def test_a_group_that_chance_explains_is_not_named(snapshot):
    results = leaking()
    chance, sure = (replace(group, p_value=p) for group, p in zip(results.groups, (0.06, 0.04), strict=False))
    chance = replace(chance, auc=Estimate(0.99, 0.98, 1.0))
    assert f"is {sure.group} = {sure.value}:" in prose("groups.exposed", replace(results, groups=(chance, sure)))
    snapshot(prose("groups.exposed", replace(results, groups=(chance,))))


@pytest.mark.slow
def test_a_difference_that_chance_explains_is_not_claimed(snapshot):
    """Intervals that exclude chance, of metrics that are not significant after correction."""
    base = quiet()
    insignificant = {"auc": Estimate(0.6, 0.55, 0.65), "p_value": 0.2}
    text = answer.verdict_text(with_headline(base, **insignificant))
    assert state(text) == "no evidence"
    snapshot(text, "lira", "95%", "9")
    assert state(answer.verdict_text(with_finding(base, "entropy", **insignificant))) == "no evidence"
    sure = with_finding(base, "entropy", **{**insignificant, "p_value": 0.01})
    assert state(answer.verdict_text(sure)) == "signs"
    snapshot(answer.verdict_text(sure), "9")
    rates = tuple(replace(rate, p_value=0.2) for rate in wording.headline_attack(few_at_low_fpr()).rates)
    assert state(answer.verdict_text(with_headline(base, rates=rates))) == "no evidence"
    turned = with_headline(base, auc=Estimate(0.4, 0.35, 0.45), p_reversed=0.2)
    assert state(answer.verdict_text(turned)) == "no evidence"


def test_the_attack_on_the_recipe_is_the_one_that_was_run(snapshot):
    base = leaking()

    def sentence(*attacks):
        typical = replace(base.headline.same_recipe, attacks=attacks)
        return headline.typical_sentence(replace(base, headline=replace(base.headline, same_recipe=typical)))

    snapshot(sentence())
    assert sentence("lira", "lira", "lira") == sentence()
    snapshot(sentence("loss", "loss", "loss"), "loss")
    both = sentence("loss", "lira", "loss")
    snapshot(both, "lira", "loss")


@pytest.mark.parametrize(("references", "expected"), [(1, "1 reference model"), (7, "7 reference models")])
def test_with_few_references_the_report_states_that_the_comparison_needs_more(references, expected):
    base = leaking()
    alone = replace(base.headline, same_recipe=None)
    few = replace(base, headline=alone, references=replace(base.references, count=references))
    for text in (summary(few), report_page(few)):
        assert f"This audit has {expected}; the comparison needs 8 or more." in " ".join(text.split())
    assert headline.typical_sentence(replace(few, references=None)) == ""
    # With enough of them it is another reason: no attack could be tried on them.
    assert headline.typical_sentence(replace(few, references=replace(base.references, count=8))) == ""


@pytest.mark.slow
def test_records_without_a_score_are_reported(snapshot):
    assert prose("headline.unscored", leaking()) == ""
    snapshot(prose("headline.unscored", unmeasured()), "600")


@pytest.mark.parametrize("value", [0.0, 0.0004, 0.0021, 0.013, 0.5, 0.9995, 1.0])
@pytest.mark.parametrize("fpr", [0.001, 0.01, 0.05])
def test_people_never_claim_more_than_the_interval(value, fpr):
    estimate = Estimate(value, 0.7 * value, min(1.5 * value + 0.001, 1.0))
    people = people_base(estimate, guess=fpr)
    low, high = interval_in_people(estimate, people)
    assert low <= estimate.low * people + 1e-6
    assert high >= estimate.high * people - 1e-6
    assert fpr * people >= 1 - 1e-9
    assert (low > fpr * people) <= (estimate.low > fpr)


@given(st.integers(0, 10**5), st.integers(0, 10**5), st.sampled_from([100, 1000]))
def test_people_and_per_cent_are_rounded_the_same_way(first, other, people):
    """The interval in people is the one next to it, rounded outwards once more."""
    estimate = Estimate((first + other) / 2e5, min(first, other) / 1e5, max(first, other) / 1e5)
    low, high = (float(end.rstrip("%")) * people / 100 for end in interval(estimate, percent).split(" to "))
    assert low <= estimate.low * people + 1e-6
    assert high >= estimate.high * people - 1e-6
    assert interval_in_people(estimate, people) == (math.floor(low + 1e-6), math.ceil(high - 1e-6))


def test_an_interval_of_an_auc_is_rounded_outwards_too():
    assert interval(Estimate(0.25, 0.0, 0.4202), percent) == "0% to 42.1%"
    assert interval(Estimate(0.7, 0.6909, 0.7401)) == "0.690 to 0.741"
    assert interval(Estimate(0.7, 0.69, 0.29 + 0.45)) == "0.690 to 0.740"
    assert interval(Estimate(-0.01, -0.0201, -0.0004)) == "-0.021 to 0.000"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.001, "0.1%"), (1.0, "100%"), (0.99996, "99.996%"), (0.0, "0%"), (0.12345, "12.3%"), (math.nan, "–")],
)
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.slow
def test_an_attack_clearly_better_than_the_headline_is_reported(snapshot):
    better = with_finding(leaking(), "entropy", auc=Estimate(0.95, 0.93, 0.97))
    snapshot(answer.verdict_text(better), "entropy", "0.950", "0.930", "0.970")
    snapshot(answer.verdict_text(leaking()))
    for gain, message in ((Estimate(0.15, 0.01, 0.3), True), (Estimate(0.15, -0.01, 0.3), False)):
        compared = with_finding(better, "entropy", beyond_headline=gain)
        assert ("does better:" in answer.verdict_text(compared)) == message


def test_a_better_attack_that_needs_more_than_outputs_states_its_access(snapshot):
    results = leaking()
    best = replace(
        results.outcomes[1], name="leaf_shares", attacker_needs="has the model file", auc=Estimate(0.95, 0.93, 0.97)
    )
    outcomes = (results.outcomes[0], best, *results.outcomes[2:])
    text = answer.verdict_text(replace(results, outcomes=outcomes))
    snapshot(text, "leaf_shares", "0.950")


@pytest.mark.slow
def test_unattainable_p_values_are_not_reported(snapshot):
    few = quiet(subject=replace(quiet().subject, members=1000, nonmembers=49))
    snapshot(prose("exposed.among_nonmembers", few.subject), "20", "0.02")
    snapshot(prose("exposed.among_nonmembers", quiet().subject), "3", "0.01")


def test_a_list_of_records_is_named_as_such(snapshot):
    base = leaking()
    snapshot(prose("exposed.title", base))
    snapshot(prose("exposed.explanation", base))
    compared = replace(base, exposed=tuple(replace(e, p_among_models=0.04, models=24) for e in base.exposed))
    snapshot(prose("exposed.title", compared))
    snapshot(prose("exposed.explanation", compared), "24", "0.04")
    insignificant = at_chance(wording.headline_attack(compared))
    nothing = with_headline(compared, auc=insignificant.auc, rates=insignificant.rates)
    snapshot(prose("exposed.title", nothing))
    # With a list whose false discovery rate is controlled, only flagged records are called exposed.
    snapshot(prose("exposed.title", replace(compared, exposure=Exposure(0.1, 400, 3))))
    assert prose("exposed.title", replace(compared, exposure=Exposure(0.1, 400, 0))).endswith("none flagged")


def test_the_table_states_the_number_of_records_expected_by_chance(snapshot):
    exposure_summary = ExposureSummary(alpha=0.05, members=2000, small=140, left_out=0, column="p_exposure")
    snapshot(prose("exposed.small_p_values", exposure_summary), "140", "2,000", "0.05", "100")
    assert prose("exposed.small_p_values", None) == ""


def test_no_record_is_listed_if_these_may_not_be_the_training_set():
    exposure_summary = ExposureSummary(alpha=0.05, members=2000, small=140, left_out=0, column="p_exposure")
    doubted = with_check(replace(leaking(), exposed=(), exposure_summary=exposure_summary), Check("GL129", "issue", {}))
    assert "GL129" in prose("exposed.caption", doubted)
    assert "GL129" not in prose("exposed.caption", with_check(doubted, Check("GL129", "ignored", {})))


def test_the_order_of_the_list_is_stated_with_its_keys(snapshot):
    base = leaking()
    snapshot(prose("exposed.caption", base), "lira")
    earlier = tuple(replace(e, p_among_models=0.04, models=24, p_distance=0.01) for e in base.exposed)
    assert "sorted" not in prose("exposed.caption", replace(base, exposed=earlier))  # it had another one
    now = replace(base, exposed=tuple(replace(e, gap=2.5) for e in earlier))
    snapshot(prose("exposed.caption", now))
    snapshot(prose("exposed.explanation", now))
    made = report_page(now)
    assert ">Gap (SD)</th>" in made
    assert '<td class="number">2.5</td>' in made
    assert ">Gap (SD)</th>" not in report_page(replace(base, exposed=earlier))


@pytest.mark.slow
def test_persons_are_listed_next_to_records():
    base = leaking()
    person = ExposedPerson("patient <7>", 12, 0.91, 0.004, 0.02, 49)
    made = report_page(replace(base, exposed_persons=(person,)))
    assert "patient &lt;7&gt;" in made
    assert "evaluated by all their records together" in made
    assert "sorted by p-value among models, then mean rank" in made
    assert "evaluated by all their records together" not in report_page(base)


def test_the_exposure_list_states_its_guarantee(snapshot):
    assert prose("exposed.guarantee", None) == ""
    text = prose("exposed.guarantee", Exposure(0.1, 400, 30, rate_in_models=0.75, rate_out_models=0.02))
    snapshot(text, "30", "400", "10", "100", "75%", "2%")
    none = prose("exposed.guarantee", Exposure(0.1, 400, 0))
    snapshot(none)
    assert "trained without it" not in none
