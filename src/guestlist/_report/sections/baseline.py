"""Sections on the model-free baseline and on metrics after reweighting."""

import math

from guestlist._baseline.baseline import Baseline
from guestlist._diagnostics.inputs import chance_sentence, inputs_text, split_advice
from guestlist._findings import CHANCE, FEWEST, AttackResult, Results
from guestlist._report import Section, fill_section, prose, sentences, wording


def baseline_section(results: Results) -> Section:
    """Render the model-free baseline, or report that the cause was not tested."""
    return fill_section(
        "baseline",
        "Is the model the cause?",
        "blind.html",
        verdict=baseline_sentence(results) or prose("baseline.not_tested", drawn_at_random(results)),
        gain=prose("baseline.gain", results.gain_over_baseline),
        weighted=weighted_sentence(results),
        attack=wording.headline_attack(results),
        adjusted=results.adjusted,
    )


def drawn_at_random(results: Results) -> bool:
    """Return True if a game drew the members at random, so that there is no difference to test for."""
    check = results.check("GL119")
    return check is not None and check.state == "not applicable"


def baseline_sentence(results: Results) -> str:
    """Report how well members are distinguished without the model, and what could have been detected; empty if not tested."""
    return prose("baseline.test", results.baseline, inputs_text)


def weighted_sentence(results: Results) -> str:
    """Report the headline attack with weighted non-members, or why there is no number; empty without a baseline."""
    return prose("baseline.weighted", results, FEWEST)


def baseline_verdict(results: Results, baseline: Baseline, attack: AttackResult) -> list[str]:
    """Return the verdict where members can be distinguished without the model, which attacks may detect.

    The model probably adds to the difference where there is evidence that an attack does better than the baseline, and that it
    separates members from weighted non-members. The verdict is never "Yes", since untested properties may differ too.
    """
    return sentences(
        "baseline.verdict",
        results,
        attack,
        contribution=model_contribution(results),
        chance=chance_sentence(baseline.p_value, baseline.game),
        advice=split_advice(baseline.game),
        fewest=FEWEST,
    )


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
