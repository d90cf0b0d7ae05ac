"""What a risk is worth here: does it name the members that an attack finds?

All figures are over members. "everybody" is always a row: where an attack finds nearly all members, calling everyone at risk has
a high F1, and a risk says something only if it does better. The AUC and the precision at the top do not reward that.
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
    """One risk against the calls of one attack, over the members about whom both say something.

    Args:
        risk, attack: names.
        members, flagged: how many there are, and how many of them the attack calls.
        precision: share of the members at risk that are called; recall: share of the called that are at risk; f1: their
            harmonic mean. Withheld where the risk has no threshold.
        auc: how well the risk ranks the called above the others.
        spearman: rank correlation of the risk with the attack's score.
        top: share of called among the 1 % with the largest risk; of equals, on average over all orders.
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
    """What each risk is worth against each attack of a case, attack by attack; "everybody" is the first risk.

    An attack calls at the threshold that 5 % of the non-members exceed.

    Args:
        risks: names, or those that an audit has by default.
        attacks: names, or all of the case.
        custom: Name to your own scores, higher for members at greater risk: an array in the order of ``case.records``, or a
            pandas Series indexed by id.
    """
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    rows: dict[str, tuple[np.ndarray, float | None]] = {EVERY_MEMBER: (np.ones(len(member)), 0.0)}
    for name, values in values_of(case, risks, custom).items():
        rows[name] = values[asked], RISKS[name].threshold if name in RISKS else None
    persons = None if case.persons is None else case.persons[member]
    found = []
    for attack in case.scores if attacks is None else attacks:
        scores = attack_scores(case, attack)[asked]
        calls = flags_at_fpr(scores, member, FPR)
        for risk, (values, threshold) in rows.items():
            parts = values[member], scores[member], calls[member]
            found.append(predictive_value(*parts, risk=risk, attack=attack, threshold=threshold, persons=persons))
    return tuple(found)


def values_of(case: Case, risks: Sequence[str] | None, custom: CustomScores | None = None) -> dict[str, np.ndarray]:
    """Name to (records,) values of risks, and of one's own scores after them."""
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
    """What any risk is worth against any attack.

    Args:
        values: (members,) the risk; NaN is left out.
        scores: (members,) of the attack.
        calls: (members,) 1.0 where it calls a member, 0.0 where not; NaN is left out.
        risk, attack: their names.
        threshold: a member with a larger risk is at risk.
        persons: (members,) whose records these are, where some have several.
    """
    known = ~np.isnan(values) & ~np.isnan(calls)
    values, scores, called = values[known], scores[known], calls[known] > 0
    persons = None if persons is None else persons[known]
    precision = recall = f1 = WITHHELD
    if threshold is not None:
        risky = values > threshold
        precision = clustered_proportion(called[risky], clusters=_some(persons, risky))
        recall = clustered_proportion(risky[called], clusters=_some(persons, called))
        either = risky | called
        f1 = _f1(clustered_proportion((risky & called)[either], clusters=_some(persons, either)))
    return PredictiveValue(
        risk=risk,
        attack=attack,
        members=len(values),
        flagged=int(called.sum()),
        precision=precision,
        recall=recall,
        f1=f1,
        auc=auc(values, called, clusters=persons),
        spearman=spearman(values, scores, clusters=persons),
        top=_top(values, called),
    )


def _f1(both: Estimate) -> Estimate:
    """Of the share of records that both name among those that either does: 2 J / (1 + J), which rises with it."""
    return Estimate(*(2 * end / (1 + end) for end in both))


def _top(values: np.ndarray, called: np.ndarray, confidence: float = 0.95) -> Estimate:
    if not len(values):
        return WITHHELD
    size, error = ceil(TOP * len(values)), error_of(confidence)
    last = np.sort(values)[-size]
    above, equal = values > last, values == last
    hits = float(called[above].sum() + called[equal].mean() * (size - above.sum()))
    # Of equals one looks at all, not at those that happen to come first, so that they are what the interval counts.
    n = int((above | equal).sum())
    seen = int(called[above | equal].sum()) if n > size else hits
    ends = float(clopper_pearson_lower(seen, n, error / 2)), float(clopper_pearson_upper(seen, n, error / 2))
    return Estimate(hits / size, min(ends[0], hits / size), max(ends[1], hits / size))


def _some(persons: np.ndarray | None, chosen: np.ndarray) -> np.ndarray | None:
    return None if persons is None else persons[chosen]
