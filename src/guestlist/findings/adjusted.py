"""What the headline attack reaches where non-members are weighted to be like members: what the model itself gives away.

An attack tells different kinds of people apart whether or not the model remembers anybody. Weighted by e / (1 - e), e being the
probability that a record of that kind is a member's, non-members are distributed as members are in what was looked at, and
what an attack still finds is not that. Nothing is known of what was not looked at.

Weights that rest on a few non-members say nothing, nor do weights that leave the two sides apart, as they must where some
members are of a kind that no non-member is. Both are refused: the first by the effective sample size, the second if the
classifier that never asks the model still tells members from weighted non-members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guestlist.arrays.digits import six_digits
from guestlist.blind.propensity import effective_share, odds
from guestlist.case import Case
from guestlist.evaluate import Estimate, auc, roc_steps, tpr_at_fpr
from guestlist.findings import headline
from guestlist.findings.attacks import CHANCE, FPRS

FEWEST = 0.1  # of the non-members, as which weighted ones must count
FEW, APART, UNSEEN = "few", "apart", "no features"  # reasons of a refusal


@dataclass(frozen=True)
class AdjustedRate:
    """TPR at a weighted false-positive rate."""

    fpr: float
    tpr: Estimate


@dataclass(frozen=True)
class Adjusted:
    """The headline attack with non-members weighted to be like members.

    Args:
        attack: its name.
        members, nonmembers: records that were looked at.
        effective_share: as which share of the non-members the weighted ones count.
        left: AUC at which the classifier that never asks the model still tells members from weighted non-members.
        refused: why there are no figures: ``few``, ``apart``, ``no features``; empty where there are.
        auc: of the attack; None where it is refused, like the rest.
        rates: TPR at some false-positive rates.
        fpr, tpr: the ROC curve.
    """

    attack: str
    members: int
    nonmembers: int
    effective_share: float
    left: Estimate
    refused: str
    auc: Estimate | None = None
    rates: tuple[AdjustedRate, ...] = ()
    fpr: tuple[float, ...] = ()
    tpr: tuple[float, ...] = ()


def find(case: Case) -> Adjusted | None:
    """None where nobody looked without the model, or what was said of each record was not kept."""
    if case.baseline is None or case.cross_fitted is None:
        return None
    name, asked = case.of(headline.find).name, case.truth.evaluated
    seen = case.cross_fitted.scored[asked]
    persons = None if case.persons is None else case.persons[seen]
    chance, baseline = case.cross_fitted.propensity[asked][seen], case.cross_fitted.across_folds[asked][seen]
    looked, member = "features" in case.baseline.inputs, case.truth.member_evaluated[seen]
    return adjusted(name, case.scores[name][asked][seen], member, chance, baseline, persons, features=looked)


def adjusted(
    name: str,
    scores: np.ndarray,
    member: np.ndarray,
    chance: np.ndarray,
    baseline: np.ndarray,
    persons: np.ndarray | None = None,
    *,
    features: bool = True,
) -> Adjusted:
    """The figures of one attack, or why there are none.

    Args:
        scores, member, chance, persons: (records,) of those that were looked at; ``chance`` is that of membership.
        baseline: (records,) what the classifier says that never asks the model.
        features: whether features were among what was looked at.
    """
    weights = odds(chance, member)
    share, left = effective_share(weights[~member]), auc(baseline, member, clusters=persons, weights=weights)
    refused = UNSEEN if not features else FEW if share < FEWEST else APART if left.low > CHANCE else ""
    found = Adjusted(name, int(member.sum()), int((~member).sum()), share, left, refused)
    if refused:
        return found
    curve = roc_steps(scores, member, at=FPRS, weights=weights)
    return replace(
        found,
        auc=auc(scores, member, clusters=persons, weights=weights),
        rates=tuple(
            AdjustedRate(fpr, tpr_at_fpr(scores, member, fpr, clusters=persons, weights=weights)) for fpr in FPRS
        ),
        fpr=six_digits(curve.fpr),
        tpr=six_digits(curve.tpr),
    )
