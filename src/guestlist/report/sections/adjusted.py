"""Both answers: what an attacker who knows the people gets, and what the model itself gives away."""

from __future__ import annotations

import math

from guestlist.evaluate import Estimate
from guestlist.findings.adjusted import APART, FEW, FEWEST, UNSEEN, Adjusted
from guestlist.findings.attacks import CHANCE
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import decimal, percent, with_interval

NOT_GIVEN = {
    FEW: "non-members that are like members count as {share} of the non-members, and below {fewest} no figure is given",
    APART: "non-members that are weighted to be like members can still be told from them (AUC {left})",
    UNSEEN: "that takes the records' features, by which non-members could be weighted to be like members, and there are none",
}


def adjusted(results: Results) -> str:
    """What the headline attack reaches with weighted non-members, or why that is not told; empty where nobody looked."""
    found, attack = results.adjusted, words.headline(results)
    if found is None or attack is None:
        return ""
    if found.auc is None:
        return f"What the model itself gives away cannot be told: {_reason(found)}."
    known = f"{found.attack} has AUC {with_interval(attack.auc)}: what someone gets who knows the people as well as the model."
    worth = f"Weighted, they count as {percent(found.effective_share)} of the non-members."
    return f"{known} {_left(found.auc)} {worth}"


def in_short(results: Results) -> str:
    """The same as part of the answer."""
    found = results.adjusted
    if found is None:
        return ""
    if found.auc is None:
        return f"What the model itself gives away cannot be told: {_reason(found)}."
    return _left(found.auc)


def beyond(results: Results) -> str:
    """By how much the headline attack does better than the classifier that never asks; empty where nobody looked."""
    found = results.beyond_blind
    if found is None or math.isnan(found.gain.value):
        return ""
    gain = f"its AUC minus that of the classifier is {with_interval(found.gain)}"
    if found.gain.low > 0:
        return f"The attack {found.attack} does better than that: {gain}."
    if found.gain.high < 0:
        return f"The attack {found.attack} does worse than that: {gain}."
    return f"The attack {found.attack} is not shown to do better than that, or worse: {gain}."


def _left(auc: Estimate) -> str:
    """What weighted non-members leave: never put down to the model alone, since weights take out what was looked at."""
    own = f"Against non-members weighted to be like members it has AUC {with_interval(auc)}"
    if auc.low <= CHANCE:
        return f"{own}: nothing is shown to be left for the model to have given away."
    return f"{own}: what is left for the model to have given away, or for differences that were not taken out."


def _reason(found: Adjusted) -> str:
    said = NOT_GIVEN.get(found.refused, found.refused)
    return said.format(share=percent(found.effective_share), fewest=percent(FEWEST), left=decimal(found.left.value))
