"""The headline attack with non-members weighted to be like members: the part of the leak that is due to the model.

An attack separates different types of people whether or not the model memorises any. Non-members are weighted by e / (1 - e),
where e is the probability that a record of that type is a member. They are then distributed as members are in everything that
the baseline reads, and what an attack still finds is not due to it. Nothing is known about other differences.

Weights that rest on a few non-members are uninformative. So are weights that leave the two sets apart, as they must if some
members are of a type that no non-member is. Both are refused: the first by the effective sample size, the second if the
model-free baseline still separates members from weighted non-members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guestlist.arrays.digits import six_digits
from guestlist.arrays.samples import optional_take
from guestlist.blind.propensity import effective_share, odds
from guestlist.case import Case
from guestlist.evaluate import Estimate, auc, roc_steps, tpr_at_fpr
from guestlist.findings import headline
from guestlist.findings.attacks import CHANCE, FPRS

FEWEST = 0.1  # smallest effective sample size, as a share of the non-members
FEW = "few"  # reasons of a refusal
APART = "apart"
UNSEEN = "no features"


@dataclass(frozen=True)
class AdjustedRate:
    """TPR at a weighted false-positive rate."""

    fpr: float
    tpr: Estimate


@dataclass(frozen=True)
class Adjusted:
    """The headline attack with non-members weighted to be like members.

    Attributes:
        attack: Name of the attack.
        members: Number of members compared.
        nonmembers: Number of non-members compared.
        effective_share: Effective sample size of the weighted non-members as a share of all of them.
        baseline_auc: AUC of the model-free baseline between members and weighted non-members.
        refused: Reason without metrics: ``few``, ``apart`` or ``no features``; empty otherwise.
        auc: AUC of the attack; None if refused, like the following.
        rates: TPR at some false-positive rates.
        fpr: False-positive rates of the ROC curve.
        tpr: True-positive rates of the ROC curve.
    """

    attack: str
    members: int
    nonmembers: int
    effective_share: float
    baseline_auc: Estimate
    refused: str
    auc: Estimate | None = None
    rates: tuple[AdjustedRate, ...] = ()
    fpr: tuple[float, ...] = ()
    tpr: tuple[float, ...] = ()


def find(case: Case) -> Adjusted | None:
    """Weight non-members by the baseline's propensities; return None without a baseline or its score per record."""
    if case.baseline is None or case.cross_fitted is None:
        return None
    name = case.of(headline.find).name
    compared = case.truth.evaluated & case.cross_fitted.scored
    return adjusted(
        name,
        case.scores[name][compared],
        case.truth.member[compared],
        case.cross_fitted.propensity[compared],
        case.cross_fitted.across_folds[compared],
        optional_take(case.persons, case.cross_fitted.scored[case.truth.evaluated]),
        features="features" in case.baseline.inputs,
    )


def adjusted(
    name: str,
    scores: np.ndarray,
    member: np.ndarray,
    propensity: np.ndarray,
    baseline: np.ndarray,
    persons: np.ndarray | None = None,
    *,
    features: bool = True,
) -> Adjusted:
    """Evaluate an attack on weighted non-members, or report why that is not possible.

    Args:
        name: Name of the attack.
        scores: (records,) its scores.
        member: (records,) true for members.
        propensity: (records,) probability of membership by the baseline.
        baseline: (records,) scores of the baseline.
        persons: (records,) person of each record.
        features: Whether the baseline read features.
    """
    weights = odds(propensity, member)
    share = effective_share(weights[~member])
    baseline_auc = auc(baseline, member, clusters=persons, weights=weights)
    refused = ""
    if not features:
        refused = UNSEEN
    elif share < FEWEST:
        refused = FEW
    elif baseline_auc.low > CHANCE:
        refused = APART
    result = Adjusted(
        attack=name,
        members=int(member.sum()),
        nonmembers=int((~member).sum()),
        effective_share=share,
        baseline_auc=baseline_auc,
        refused=refused,
    )
    if refused:
        return result
    curve = roc_steps(scores, member, at=FPRS, weights=weights)
    return replace(
        result,
        auc=auc(scores, member, clusters=persons, weights=weights),
        rates=tuple(
            AdjustedRate(fpr, tpr_at_fpr(scores, member, fpr, clusters=persons, weights=weights)) for fpr in FPRS
        ),
        fpr=six_digits(curve.fpr),
        tpr=six_digits(curve.tpr),
    )
