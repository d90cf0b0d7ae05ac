"""Model-free baseline: can members and non-members be distinguished without the model?"""

from __future__ import annotations

import math
from typing import NamedTuple

from guestlist.blind.baseline import Baseline
from guestlist.evaluate import Estimate
from guestlist.findings.attacks import CHANCE, AttackResult
from guestlist.findings.diagnostics_baseline import chance_sentence, inputs_text, split_advice
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import compact, count, decimal, with_interval
from guestlist.report.section import Section, fill_template
from guestlist.report.sections.adjusted import gain_sentence, weighted_sentence, weighted_summary

NO_FEATURES = "The baseline had no features, so it misses differences in them. Pass them with features= (--features)."


# How the answer begins where the model likely adds to that: by how much more AUC at least.
LIKELY_GRADES = ((0.1, "Likely, beyond what the records themselves give away."), (0.0, "Likely, but only slightly."))


class WeightingRow(NamedTuple):
    """Metrics of the headline attack against one set of non-members."""

    nonmembers: str
    auc: Estimate
    rates: dict[float, Estimate]


def section(results: Results) -> Section | None:
    """Render the model-free baseline; None where it was not run."""
    if results.baseline is None:
        return None
    body = fill_template(
        "blind.html",
        said=baseline_sentence(results),
        beyond=gain_sentence(results),
        adjusted=weighted_sentence(results),
        rows=_rows(results),
    )
    return Section("baseline", "Can members be told without the model?", body)


def _rows(results: Results) -> list[WeightingRow]:
    """Return the metrics with unweighted and weighted non-members; empty without the latter."""
    found, attack = results.adjusted, words.headline_attack(results)
    if found is None or found.auc is None or attack is None:
        return []
    shown = {rate.fpr: rate.tpr for rate in found.rates}
    return [
        WeightingRow(
            "as they are: the model and the people", attack.auc, {rate.fpr: rate.tpr for rate in attack.rates}
        ),
        WeightingRow("weighted to be like members: what is left for the model", found.auc, shown),
    ]


def baseline_sentence(results: Results) -> str:
    """Report how well members are distinguished without the model, and what could have been detected; empty if not tested."""
    found = results.baseline
    if found is None:
        return ""
    seen = inputs_text(found.inputs)
    reached = f"A model-free baseline that reads {seen}, and never queries the model, {_reaches(found)}"
    on = f"measured on {count(found.members)} members and {count(found.nonmembers)} non-members"
    evidence = "Evidence" if found.significant else "No evidence"
    first = f"{evidence} that members and non-members can be distinguished without the model."
    only = [] if "features" in found.inputs else [NO_FEATURES]
    return " ".join([f"{first} {reached}, {on}. {_power(found)}", *only])


def verdict_with_baseline(results: Results, found: Baseline, attack: AttackResult) -> str:
    """The answer where members can be distinguished without the model: attacks may detect that difference.

    The model likely adds to it where there is evidence that an attack does better than the baseline, and that it separates
    members from non-members who are weighted to be like them. Never "Yes": what was not tested may differ too.
    """
    least = model_contribution(results)
    begin = "Unclear." if least <= 0 else next(said for above, said in LIKELY_GRADES if least >= above)
    differ = f"There is evidence of a difference between the two sets: a model-free baseline {_reaches(found)}"
    model = "so attack results cannot be attributed to the model alone"
    own = "" if math.isnan(attack.auc.value) else f"The attack {attack.name} has AUC {with_interval(attack.auc)}."
    chance = chance_sentence(found.p_value, found.game)
    said = [
        f"{begin} {differ}, {model}.",
        chance,
        own,
        gain_sentence(results),
        weighted_summary(results),
        split_advice(found.game),
    ]
    return " ".join(filter(None, said))


def model_contribution(results: Results) -> float:
    """Return the lower limit of the AUC that the model adds, by both corrections for the baseline; 0 if unknown."""
    gain, left = results.gain_over_baseline, results.adjusted
    if gain is None or left is None or left.auc is None:
        return 0.0
    lows = gain.gain.low, left.auc.low - CHANCE
    return 0.0 if any(map(math.isnan, lows)) else max(min(lows), 0.0)


def _reaches(found: Baseline) -> str:
    return f"separates members from non-members with AUC {decimal(found.auc)} (p = {compact(found.p_value)})"


def _power(found: Baseline) -> str:
    if math.isnan(found.detectable_auc) or found.detectable_auc >= 1:
        return "With this few records, the test may miss even a large difference."
    return f"This test has 80% power to detect a difference of AUC {decimal(found.detectable_auc)} or more."
