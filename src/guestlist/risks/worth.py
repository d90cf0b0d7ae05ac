"""Predictive value of risks: how well a risk predicts the members that an attack identifies.

All metrics are over members. "everybody" is always a row: if an attack identifies nearly all members, flagging every member has
a high F1, and a risk is informative only if it does better. The AUC and the precision at the top do not reward that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from guestlist.arrays.samples import error_of
from guestlist.case import Case
from guestlist.evaluate import WITHHELD, Estimate, auc, clustered_proportion, flags_at_fpr
from guestlist.evaluate.correlation import spearman
from guestlist.evaluate.intervals import clopper_pearson_lower, clopper_pearson_upper
from guestlist.risks.asked import attack_scores, requested_risks
from guestlist.risks.own import EVERY_MEMBER, CustomScores, custom_values
from guestlist.risks.table import RISKS

FPR = 0.05
TOP = 0.01


@dataclass(frozen=True)
class PredictiveValue:
    """Predictive value of one risk for the members that one attack flags.

    Args:
        risk, attack: names.
        members, flagged: how many there are, and how many of them the attack calls.
        precision: share of the members at risk that are flagged; recall: share of the flagged that are at risk; f1: their
            harmonic mean. Withheld where the risk has no threshold.
        auc: how well the risk ranks the flagged above the others.
        spearman: rank correlation of the risk with the attack's score.
        top: share of flagged among the 1 % with the largest risk; of equals, on average over all orders.
    """

    risk: str
    attack: str
    members: int
    flagged: int
    precision: Estimate
    recall: Estimate
    f1: Estimate
    auc: Estimate
    spearman: Estimate
    top: Estimate


def predictive_values(
    case: Case,
    risks: Sequence[str] | None = None,
    attacks: Sequence[str] | None = None,
    *,
    custom: CustomScores | None = None,
) -> tuple[PredictiveValue, ...]:
    """Compute the predictive value of each risk for each attack; the first risk flags every member.

    An attack flags at the threshold that 5 % of the non-members exceed.

    Args:
        risks: names, or those that an audit has by default.
        attacks: names, or all of the case.
        custom: Name to your own scores, higher for members at greater risk: an array in the order of ``case.records``, or a
            pandas Series indexed by id.
    """
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    rows: dict[str, tuple[np.ndarray, float | None]] = {EVERY_MEMBER: (np.ones(len(member)), 0.0)}
    for name, values in values_of(case, risks, custom).items():
        rows[name] = values[evaluated], RISKS[name].threshold if name in RISKS else None
    persons = _some(case.persons, member)
    predictive: list[PredictiveValue] = []
    for attack in case.scores if attacks is None else attacks:
        scores = attack_scores(case, attack)[evaluated]
        calls = flags_at_fpr(scores, member, FPR)
        for risk, (values, threshold) in rows.items():
            parts = values[member], scores[member], calls[member]
            predictive.append(predictive_value(*parts, risk=risk, attack=attack, threshold=threshold, persons=persons))
    return tuple(predictive)


def values_of(case: Case, risks: Sequence[str] | None, custom: CustomScores | None = None) -> dict[str, np.ndarray]:
    """Return name to (records,) values of risks, then of custom scores."""
    return requested_risks(case, risks) | custom_values(case, custom or {})


def predictive_value(
    values: np.ndarray,
    scores: np.ndarray,
    calls: np.ndarray,
    *,
    risk: str,
    attack: str,
    threshold: float | None = None,
    persons: np.ndarray | None = None,
) -> PredictiveValue:
    """Compute the predictive value of one risk for one attack.

    Args:
        values: (members,) the risk; NaN is left out.
        scores: (members,) of the attack.
        calls: (members,) 1.0 where it calls a member, 0.0 where not; NaN is left out.
        risk, attack: their names.
        threshold: a member with a larger risk is at risk.
        persons: (members,) whose records these are, where some have several.
    """
    known = ~np.isnan(values) & ~np.isnan(calls)
    values = values[known]
    scores = scores[known]
    flagged = calls[known] > 0
    persons = _some(persons, known)
    precision = recall = f1 = WITHHELD
    if threshold is not None:
        risky = values > threshold
        precision = clustered_proportion(flagged[risky], clusters=_some(persons, risky))
        recall = clustered_proportion(risky[flagged], clusters=_some(persons, flagged))
        either = risky | flagged
        f1 = _f1(clustered_proportion((risky & flagged)[either], clusters=_some(persons, either)))
    return PredictiveValue(
        risk=risk,
        attack=attack,
        members=len(values),
        flagged=int(flagged.sum()),
        precision=precision,
        recall=recall,
        f1=f1,
        auc=auc(values, flagged, clusters=persons),
        spearman=spearman(values, scores, clusters=persons),
        top=_top(values, flagged),
    )


def _f1(both: Estimate) -> Estimate:
    """Convert the Jaccard index J of two sets to their F1 score, 2 J / (1 + J)."""
    return Estimate(*(2 * end / (1 + end) for end in both))


def _top(values: np.ndarray, flagged: np.ndarray, confidence: float = 0.95) -> Estimate:
    if not len(values):
        return WITHHELD
    size = ceil(TOP * len(values))
    error = error_of(confidence)
    last = np.sort(values)[-size]
    above = values > last
    equal = values == last
    hits = float(flagged[above].sum() + flagged[equal].mean() * (size - above.sum()))
    # The interval counts all ties, not only those that happen to come first.
    n = int((above | equal).sum())
    hits_with_ties = int(flagged[above | equal].sum()) if n > size else hits
    ends = (
        float(clopper_pearson_lower(hits_with_ties, n, error / 2)),
        float(clopper_pearson_upper(hits_with_ties, n, error / 2)),
    )
    return Estimate(hits / size, min(ends[0], hits / size), max(ends[1], hits / size))


def _some(persons: np.ndarray | None, chosen: np.ndarray) -> np.ndarray | None:
    return None if persons is None else persons[chosen]
