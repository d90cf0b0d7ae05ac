"""Words follow from intervals: each case says what it must, and nothing says more than was measured."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guestlist import Estimate
from guestlist._case import Check
from guestlist._findings.exposure import ExposedPerson, Exposure
from guestlist._findings.records import ExposureSummary
from guestlist._report import wording
from guestlist._report.page import report_page
from guestlist._report.sections import answer, exposed, facts, groups, headline
from guestlist._report.terminal import fragment, summary
from guestlist._util import interval, interval_in_people, people_base, percent
from guestlist.metrics import WITHHELD
from report_worlds import at_chance, leaking, predictions_only, quiet, with_check, with_finding, with_headline


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
def test_sizes_and_the_lower_bound_are_always_told(case):
    results = case()
    for text in (summary(results), fragment(results), report_page(results)):
        told = " ".join(text.split())
        assert f"{results.subject.members:,} members" in told
        assert f"{results.subject.nonmembers:,} non-members" in told
        assert "lower bound" in told
        assert ("reference models trained" in told) == (results.references is not None)


@pytest.mark.parametrize(
    ("case", "start"),
    [
        (leaking, "Yes, many training records can be identified. The attack lira identifies "),
        (quiet, "No evidence. "),
        (predictions_only, "Yes, "),
        (reversed_sides, "Unclear. "),
        (unmeasured, "Not measured. "),
        (other_attack, "There are signs of it. "),
        (few_at_low_fpr, "Yes, some training records "),
        (
            on_average_only,
            "Yes, on average. Given one training record and one other record, the attack lira picks the training record ",
        ),
    ],
)
def test_the_answer_begins_with_what_was_shown(case, start):
    assert answer.verdict_text(case()).startswith(start)


@pytest.mark.slow
def test_an_average_leak_is_not_said_to_single_people_out():
    assert "no evidence that it identifies single records" in answer.verdict_text(on_average_only())
    assert "no evidence that it identifies single records" not in answer.verdict_text(leaking())


def test_rates_are_said_to_be_resolved_by_persons_where_they_are_known():
    results = quiet()
    results = replace(results, subject=replace(results.subject, member_persons=30, nonmember_persons=40))
    told = " ".join(facts.detection_limits(results))
    assert "of 30 persons and" in told
    assert "non-members of 40 persons" in told
    assert "40 non-member persons give less than one expected false positive" in told
    assert "Use at least 10,000 non-member persons" in told


@pytest.mark.slow
def test_nothing_found_says_what_could_have_been():
    results = quiet()
    told = " ".join(facts.detection_limits(results))
    assert f"80% power to detect an AUC of {wording.headline_attack(results).detectable_auc:.3f}" in told
    for rate in wording.headline_attack(results).rates:
        if rate.resolution != "withheld":
            assert f"{percent(rate.detectable)} at an FPR of {percent(rate.fpr)}" in told
    assert "No estimate at an FPR of 0.1%" in told
    assert "Use at least 10,000 non-members" in told
    assert "an FPR of 1% is imprecise: it rests on about 3 false positives among 300 non-members" in told
    for text in (summary(results), fragment(results), report_page(results)):
        assert f"80% power to detect an AUC of {wording.headline_attack(results).detectable_auc:.3f}" in " ".join(
            text.split()
        )
    assert f"{wording.headline_attack(results).detectable_auc:.3f}" in answer.verdict_text(results)


def test_a_rate_that_could_show_nothing_is_told():
    base = quiet()
    blind = tuple(replace(rate, detectable=math.nan) for rate in wording.headline_attack(base).rates)
    told = " ".join(facts.detection_limits(with_headline(base, rates=blind)))
    assert "At an FPR of 1% and 5% it cannot distinguish even an attack that identifies every member" in told


def test_another_attack_that_succeeds_is_named_with_its_interval_and_the_doubt():
    told = answer.verdict_text(other_attack())
    assert "entropy beats guessing: AUC 0.600 (0.550 to 0.650)" in told
    assert "9 attacks were run" in told
    assert "by luck" in told


def test_another_attack_that_succeeds_at_a_low_fpr_alone_is_named():
    base = quiet()
    rates = tuple(replace(r, tpr=Estimate(0.12, 0.07, 0.2)) if r.fpr == 0.05 else r for r in base.attack("loss").rates)
    told = answer.verdict_text(with_finding(base, "loss", rates=rates))
    assert "loss beats guessing: at 5% false alarms it finds 12% of the members (7% to 20%)" in told


def test_touching_chance_is_not_a_finding():
    edge = with_headline(quiet(), auc=Estimate(0.55, 0.5, 0.6))
    assert not wording.headline_attack(edge).beats_guessing
    assert wording.headline_attack(with_headline(edge, auc=Estimate(0.55, 0.5001, 0.6))).beats_guessing


@pytest.mark.slow
def test_the_most_clearly_exposed_group_is_named():
    results = leaking()
    top = max(results.groups, key=lambda group: group.auc.low)
    named = f"most clearly exposed is {top.group} = {top.value}: there the headline attack has AUC {top.auc.value:.3f}"
    assert named in groups.exposed_group_sentence(results)
    assert "None of 6 groups is shown to be exposed" in groups.exposed_group_sentence(quiet())
    assert groups.exposed_group_sentence(predictions_only()) is None


@pytest.mark.slow
def test_a_group_is_only_said_to_differ_where_it_is_shown_to_differ_from_the_rest():
    results = leaking()
    group = replace(results.groups[0], p_value=0.001)
    apart = replace(group, beyond_rest=Estimate(0.12, 0.02, 0.2))
    assert "This AUC is above that among the other records, by 0.120 (0.020 to 0.200)" in groups.exposed_group_sentence(
        replace(results, groups=(apart,))
    )
    alike = replace(group, beyond_rest=Estimate(0.12, -0.02, 0.25))
    assert "This AUC is not shown to be above that among the other" in groups.exposed_group_sentence(
        replace(results, groups=(alike,))
    )
    whole = replace(group, beyond_rest=WITHHELD)  # there are no other records
    assert "other records" not in groups.exposed_group_sentence(replace(results, groups=(whole,)))


def test_groups_are_said_to_stand_in_the_order_in_which_they_stand():
    """A small group with a larger AUC and a wider interval comes later."""
    results = leaking()
    sure, wide = replace(results.groups[0], auc=Estimate(0.843, 0.8, 0.88)), results.groups[1]
    wide = replace(wide, auc=Estimate(0.87, 0.7, 0.95))
    made = groups.groups_section(replace(results, groups=(wide, sure))).body
    assert made.index("0.843") < made.index("0.870")
    assert "the most clearly exposed first, by the lower end of the interval" in made


def test_a_group_that_luck_explains_is_not_named():
    results = leaking()
    lucky, sure = (replace(group, p_value=p) for group, p in zip(results.groups, (0.06, 0.04), strict=False))
    lucky = replace(lucky, auc=Estimate(0.99, 0.98, 1.0))
    assert f"exposed is {sure.group} = {sure.value}:" in groups.exposed_group_sentence(
        replace(results, groups=(lucky, sure))
    )
    assert "The one group is not shown" in groups.exposed_group_sentence(replace(results, groups=(lucky,)))


@pytest.mark.slow
def test_what_luck_explains_is_not_claimed():
    """Intervals that lie beyond guessing, of figures that do not pay for all that was looked at."""
    base = quiet()
    lucky = {"auc": Estimate(0.6, 0.55, 0.65), "p_value": 0.2}
    told = answer.verdict_text(with_headline(base, **lucky))
    assert told.startswith("No evidence. ")
    assert (
        "lira has a 95% interval beyond guessing, but among 9 attacks with several figures each that may be luck"
        in told
    )
    assert answer.verdict_text(with_finding(base, "entropy", **lucky)).startswith("No evidence. ")
    sure = with_finding(base, "entropy", **{**lucky, "p_value": 0.01})
    assert answer.verdict_text(sure).startswith("There are signs of it. ")
    assert "more than luck gives the best of 9 attacks" in answer.verdict_text(sure)
    rates = tuple(replace(rate, p_value=0.2) for rate in wording.headline_attack(few_at_low_fpr()).rates)
    assert answer.verdict_text(with_headline(base, rates=rates)).startswith("No evidence. ")
    turned = with_headline(base, auc=Estimate(0.4, 0.35, 0.45), p_reversed=0.2)
    assert answer.verdict_text(turned).startswith("No evidence. ")


def test_the_attack_on_the_recipe_is_the_one_that_was_run():
    base = leaking()

    def told(*attacks):
        place = replace(base.headline.same_recipe, attacks=attacks)
        return headline.typical_sentence(replace(base, headline=replace(base.headline, same_recipe=place)))

    assert "lira reaches a mean AUC of" in told()
    assert "lira reaches a mean AUC of" in told("lira", "lira", "lira")
    assert "loss, chosen on other models than those it is reported on, reaches a mean AUC of" in told(
        "loss", "loss", "loss"
    )
    both = told("loss", "lira", "loss")
    assert "lira and loss, each chosen on one half of them and reported on the other, reach a mean AUC of" in both


@pytest.mark.parametrize(("references", "told"), [(1, "1 reference model"), (7, "7 reference models")])
def test_with_few_references_the_report_says_that_the_comparison_needs_more(references, told):
    base = leaking()
    alone = replace(base.headline, same_recipe=None)
    few = replace(base, headline=alone, references=replace(base.references, count=references))
    for text in (summary(few), report_page(few)):
        assert f"This audit has {told}; the comparison needs 8 or more." in " ".join(text.split())
    assert headline.typical_sentence(replace(few, references=None)) is None
    # With enough of them it is another reason: no attack could be tried on them.
    assert headline.typical_sentence(replace(few, references=replace(base.references, count=8))) is None


@pytest.mark.slow
def test_records_without_a_score_are_told():
    assert headline.unscored_sentence(leaking()) is None
    assert "no score to 600 records" in headline.unscored_sentence(unmeasured())


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
def test_people_and_per_cent_round_alike(one, other, people):
    """The ends in people are those of the interval beside them, rounded outwards once more."""
    estimate = Estimate((one + other) / 2e5, min(one, other) / 1e5, max(one, other) / 1e5)
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
def test_an_attack_clearly_better_than_the_headline_is_told():
    better = with_finding(leaking(), "entropy", auc=Estimate(0.95, 0.93, 0.97))
    assert "entropy does better still: AUC 0.950 (0.930 to 0.970)" in answer.verdict_text(better)
    assert "does better still" not in answer.verdict_text(leaking())
    for gain, said in ((Estimate(0.15, 0.01, 0.3), True), (Estimate(0.15, -0.01, 0.3), False)):
        compared = with_finding(better, "entropy", beyond_headline=gain)
        assert ("does better still" in answer.verdict_text(compared)) == said


def test_a_better_attack_that_takes_more_than_answers_says_what_it_takes():
    found = leaking()
    best = replace(
        found.outcomes[1], name="leaf_shares", attacker_needs="has the model file", auc=Estimate(0.95, 0.93, 0.97)
    )
    outcomes = (found.outcomes[0], best, *found.outcomes[2:])
    said = answer.verdict_text(replace(found, outcomes=outcomes))
    assert "leaf_shares, run by someone who has the model file, does better still: AUC 0.950" in said


@pytest.mark.slow
def test_p_values_are_not_promised_where_they_cannot_occur():
    few = quiet(subject=replace(quiet().subject, members=1000, nonmembers=49))
    assert "about 20 of them would still have a p-value of 0.02 or less" in exposed.nonmember_p_value_explanation(
        few.subject
    )
    assert "about 3 of them would still have a p-value of 0.01 or less" in exposed.nonmember_p_value_explanation(
        quiet().subject
    )


def test_a_list_of_records_is_called_what_it_is():
    base = leaking()
    assert exposed.exposed_title(base) == "Members with the highest scores"
    assert "may come from an easy record" in exposed.p_value_explanation(base)
    compared = replace(base, exposed=tuple(replace(e, p_among_models=0.04, models=24) for e in base.exposed))
    assert exposed.exposed_title(compared) == "Most exposed records"
    assert "With 24 such models no p-value is below 0.04" in exposed.p_value_explanation(compared)
    by_luck = at_chance(wording.headline_attack(compared))
    nothing = with_headline(compared, auc=by_luck.auc, rates=by_luck.rates)
    assert exposed.exposed_title(nothing) == "Members with the smallest p-values"
    # With a list whose false discovery rate is controlled, only flagged records are called exposed.
    assert exposed.exposed_title(replace(compared, exposure=Exposure(0.1, 400, 3))) == "Most exposed records"
    assert exposed.exposed_title(replace(compared, exposure=Exposure(0.1, 400, 0))).endswith("none flagged")


def test_the_table_states_how_many_records_chance_alone_would_give():
    base = leaking()
    exposure_summary = ExposureSummary(alpha=0.05, members=2000, small=140, left_out=0, column="p_exposure")
    text = exposed.small_p_values_sentence(replace(base, exposure_summary=exposure_summary))
    assert text.startswith("140 of 2,000 members have a distance p-value of 0.05 or less (column p_exposure")
    assert text.endswith("Chance alone would give about 100.")
    assert exposed.small_p_values_sentence(replace(base, exposure_summary=None)) == ""


def test_no_record_is_listed_if_these_may_not_be_the_training_set():
    exposure_summary = ExposureSummary(alpha=0.05, members=2000, small=140, left_out=0, column="p_exposure")
    doubted = with_check(replace(leaking(), exposed=(), exposure_summary=exposure_summary), Check("GL129", "issue", {}))
    assert "GL129" in exposed.table_caption(doubted)
    assert "GL129" not in exposed.table_caption(with_check(doubted, Check("GL129", "ignored", {})))


def test_the_order_of_the_list_is_told_where_its_keys_are_shown():
    base = leaking()
    assert "with the highest scores under lira, sorted by score." in exposed.table_caption(base)
    earlier = tuple(replace(e, p_among_models=0.04, models=24, p_distance=0.01) for e in base.exposed)
    assert "sorted" not in exposed.table_caption(replace(base, exposed=earlier))  # it had another one
    now = replace(base, exposed=tuple(replace(e, gap=2.5) for e in earlier))
    assert "sorted by distance p-value, then by gap." in exposed.table_caption(now)
    assert "The gap is the distance of the score" in exposed.p_value_explanation(now)
    made = report_page(now)
    assert ">Gap</th>" in made
    assert '<td class="number">2.5</td>' in made
    assert ">Gap</th>" not in report_page(replace(base, exposed=earlier))


@pytest.mark.slow
def test_persons_are_listed_beside_records():
    base = leaking()
    person = ExposedPerson("patient <7>", 12, 0.91, 0.004, 0.02, 49)
    made = report_page(replace(base, exposed_persons=(person,)))
    assert "patient &lt;7&gt;" in made
    assert "judged by all their records together" in made
    assert "They stand in the order of the p-value among models, then of the place." in made
    assert "judged by all their records together" not in report_page(base)


def test_the_exposure_list_says_what_it_promises_and_what_not():
    base = quiet()
    assert exposed.flag_guarantee(replace(base, exposure=None)) == ""
    told = exposed.flag_guarantee(
        replace(base, exposure=Exposure(0.1, 400, 30, rate_in_models=0.75, rate_out_models=0.02))
    )
    assert told.startswith("30 of 400 members are flagged")
    assert "at most 10 in 100 flagged records" in told
    assert "in 75% of cases; models trained without it, in 2%." in told
    assert "A flag is no proof for a single record" in told
    none = exposed.flag_guarantee(replace(base, exposure=Exposure(0.1, 400, 0)))
    assert none.startswith("No member is flagged")
    assert "trained again" not in none
