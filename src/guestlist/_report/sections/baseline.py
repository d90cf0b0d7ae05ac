"""Sections on the model-free baseline and on metrics after reweighting."""

import math
from typing import NamedTuple

from guestlist._baseline.baseline import Baseline
from guestlist._diagnostics.inputs import chance_sentence, inputs_text, split_advice
from guestlist._findings import APART, CHANCE, FEW, FEWEST, UNSEEN, Adjusted, AttackResult, Results
from guestlist._report import Section, fill_template, wording
from guestlist._util import compact, decimal, percent, with_interval
from guestlist.metrics import Estimate

NOT_TESTED = (
    "Not tested. The audit did not compare the two sets without the model, so a difference between them may explain the "
    "result."
)
DRAWN = "Members were drawn at random from one set of records, so the two sets differ only by chance."
NO_FEATURES = "The baseline had no features, so it misses differences in them. Pass them with features= (--features)."


# First sentences of the verdict if the model probably adds to the difference, by the lower limit of the additional AUC.
LIKELY_GRADES = ((0.1, "Likely, beyond what the records themselves reveal."), (0.0, "Likely, but only slightly."))


class WeightingRow(NamedTuple):
    """Metrics of the headline attack against one set of non-members."""

    nonmembers: str
    auc: Estimate
    rates: dict[float, Estimate]


def baseline_section(results: Results) -> Section:
    """Render the model-free baseline, or report that the cause was not tested."""
    body = fill_template(
        "blind.html",
        verdict=baseline_sentence(results) or (DRAWN if drawn_at_random(results) else NOT_TESTED),
        gain=gain_sentence(results),
        weighted=weighted_sentence(results),
        rows=_rows(results),
    )
    return Section("baseline", "Is the model the cause?", body)


def drawn_at_random(results: Results) -> bool:
    """Return True if a game drew the members at random, so that there is no difference to test for."""
    check = results.check("GL119")
    return check is not None and check.state == "not applicable"


def _rows(results: Results) -> list[WeightingRow]:
    """Return the metrics with unweighted and weighted non-members; empty without the latter."""
    weighted = results.adjusted
    attack = wording.headline_attack(results)
    if weighted is None or weighted.auc is None or attack is None:
        return []
    rates = {rate.fpr: rate.tpr for rate in attack.rates}
    weighted_rates = {rate.fpr: rate.tpr for rate in weighted.rates}
    return [
        WeightingRow("unweighted", attack.auc, rates),
        WeightingRow("weighted to match members", weighted.auc, weighted_rates),
    ]


def baseline_sentence(results: Results) -> str:
    """Report how well members are distinguished without the model, and what could have been detected; empty if not tested."""
    baseline = results.baseline
    if baseline is None:
        return ""
    inputs = inputs_text(baseline.inputs)
    performance = f"A model-free baseline on {inputs} {_performance(baseline)}"
    evidence = "Evidence" if baseline.significant else "No evidence"
    first = f"{evidence} that members and non-members can be distinguished without the model."
    caveat = wording.only_if("features" not in baseline.inputs, NO_FEATURES)
    return wording.paragraph(f"{first} {performance}.", _power_sentence(baseline), caveat)


def baseline_verdict(results: Results, baseline: Baseline, attack: AttackResult) -> list[str]:
    """Return the verdict where members can be distinguished without the model, which attacks may detect.

    The model probably adds to the difference where there is evidence that an attack does better than the baseline, and that it
    separates members from weighted non-members. The verdict is never "Yes", since untested properties may differ too.
    """
    contribution = model_contribution(results)
    start = "Unclear."
    if contribution > 0:
        start = next(text for above, text in LIKELY_GRADES if contribution >= above)
    headline = f"The attack {attack.name} has AUC {with_interval(attack.auc)}."
    sentences = [
        start,
        f"Members and non-members differ without the model: a model-free baseline {_performance(baseline)}. Attack results "
        "cannot be attributed to the model alone.",
        chance_sentence(baseline.p_value, baseline.game),
        wording.only_if(not math.isnan(attack.auc.value), headline),
        gain_sentence(results),
        weighted_summary(results),
        split_advice(baseline.game),
    ]
    return [sentence for sentence in sentences if sentence]


def model_contribution(results: Results) -> float:
    """Return the lower limit of the AUC that the model adds, by both corrections for the baseline; 0 if unknown."""
    gain = results.gain_over_baseline
    weighted = results.adjusted
    if gain is None or weighted is None or weighted.auc is None:
        return 0.0
    lows = (gain.difference.low, weighted.auc.low - CHANCE)
    if any(map(math.isnan, lows)):
        return 0.0
    return max(min(lows), 0.0)


def _performance(baseline: Baseline) -> str:
    return f"separates members from non-members with AUC {decimal(baseline.auc)} (p = {compact(baseline.p_value)})"


def _power_sentence(baseline: Baseline) -> str:
    if math.isnan(baseline.detectable_auc) or baseline.detectable_auc >= 1:
        return "With this few records, the test may miss even a large difference."
    return f"This test has 80% power to detect a difference of AUC {decimal(baseline.detectable_auc)} or more."


REFUSAL_REASONS = {
    FEW: "the effective sample size after weighting is {share} of the non-members, below the minimum of {fewest}",
    APART: "the baseline still separates members from the weighted non-members (AUC {left})",
    UNSEEN: "weighting needs the records' features, and there are none",
}


def weighted_sentence(results: Results) -> str:
    """Report the headline attack with weighted non-members, or why there is no number; empty without a baseline."""
    weighted = results.adjusted
    attack = wording.headline_attack(results)
    if weighted is None or attack is None:
        return ""
    if weighted.auc is None:
        return _refusal(weighted)
    size = f"Effective sample size after weighting: {percent(weighted.effective_share)} of the non-members."
    return f"{_weighted_auc(weighted.auc)} {size}"


def weighted_summary(results: Results) -> str:
    """Report only the weighted AUC, for the verdict; empty without a baseline."""
    weighted = results.adjusted
    if weighted is None:
        return ""
    if weighted.auc is None:
        return _refusal(weighted)
    return _weighted_auc(weighted.auc)


def gain_sentence(results: Results) -> str:
    """Compare the headline attack with the larger of guessing and the baseline; empty without a baseline."""
    result = results.gain_over_baseline
    if result is None or math.isnan(result.difference.value):
        return ""
    gain = f"its AUC minus the larger of 0.5 and the baseline's AUC is {with_interval(result.difference)}"
    if result.difference.low > 0:
        return f"The attack {result.attack} does better than the baseline and guessing: {gain}."
    if result.difference.high < 0:
        return f"The attack {result.attack} does worse than the baseline or guessing: {gain}."
    return f"No evidence that the attack {result.attack} does better than the baseline and guessing: {gain}."


def _weighted_auc(auc: Estimate) -> str:
    """Report the weighted AUC.

    Weights remove only the differences that were tested, so the model may not be the only cause.
    """
    text = f"After weighting non-members to match members, the AUC is {with_interval(auc)}"
    if auc.low <= CHANCE:
        return f"{text}: no evidence that the model adds to the difference."
    return f"{text}. This remainder is due to the model or to differences that weighting did not remove."


def _refusal(weighted: Adjusted) -> str:
    reason = REFUSAL_REASONS.get(weighted.refused, weighted.refused)
    details = reason.format(
        share=percent(weighted.effective_share), fewest=percent(FEWEST), left=decimal(weighted.baseline_auc.value)
    )
    return f"The model's own contribution cannot be estimated: {details}."
