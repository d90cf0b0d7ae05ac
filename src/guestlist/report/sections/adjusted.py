"""The headline attack after weighting non-members to match members."""

from __future__ import annotations

import math

from guestlist.evaluate import Estimate
from guestlist.findings.adjusted import APART, FEW, FEWEST, UNSEEN, Adjusted
from guestlist.findings.attacks import CHANCE
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import decimal, percent, with_interval

REFUSAL_REASONS = {
    FEW: "the effective sample size after weighting is {share} of the non-members, below the minimum of {fewest}",
    APART: "the baseline still separates members from the weighted non-members (AUC {left})",
    UNSEEN: "weighting needs the records' features, and there are none",
}


def weighted_sentence(results: Results) -> str:
    """Report the headline attack with weighted non-members, or why there is no number; empty without a baseline."""
    weighted = results.adjusted
    attack = words.headline_attack(results)
    if weighted is None or attack is None:
        return ""
    if weighted.auc is None:
        return _refusal(weighted)
    known = f"{weighted.attack} has AUC {with_interval(attack.auc)} for an attacker who knows both the records and the model."
    size = f"Effective sample size after weighting: {percent(weighted.effective_share)} of the non-members."
    return f"{known} {_weighted_auc(weighted.auc)} {size}"


def weighted_summary(results: Results) -> str:
    """Report only the weighted AUC, for the verdict; empty without a baseline."""
    weighted = results.adjusted
    if weighted is None:
        return ""
    return _refusal(weighted) if weighted.auc is None else _weighted_auc(weighted.auc)


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
    text = f"After weighting non-members to match members, its AUC is {with_interval(auc)}"
    if auc.low <= CHANCE:
        return f"{text}: no evidence that the model adds to the difference."
    return f"{text}. This remainder is due to the model or to differences that weighting did not remove."


def _refusal(weighted: Adjusted) -> str:
    reason = REFUSAL_REASONS.get(weighted.refused, weighted.refused)
    details = reason.format(
        share=percent(weighted.effective_share), fewest=percent(FEWEST), left=decimal(weighted.baseline_auc.value)
    )
    return f"The model's own contribution cannot be estimated: {details}."
