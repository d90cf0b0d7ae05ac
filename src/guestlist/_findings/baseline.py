"""Findings relative to the model-free baseline: the attack's gain, and metrics after reweighting."""

from dataclasses import dataclass, replace

import numpy as np

from guestlist._baseline.regression import effective_share, odds
from guestlist._case import Case
from guestlist._findings import CHANCE, FPRS, MeasuredRate, headline
from guestlist._kernels import optional_take, six_digits
from guestlist.metrics import Estimate, auc, auc_gain_within_folds, roc_steps, tpr_at_fpr


@dataclass(frozen=True)
class GainOverBaseline:
    """Difference in AUC between the headline attack and the larger of 0.5 and the AUC of the model-free baseline.

    Both are measured on the same records, over pairs within a cross-fitting fold. The confidence interval is DeLong's for
    paired scores, clustered by person where person identifiers are given, and widened for cross-fitting.

    Attributes:
        attack: Name of the headline attack.
        difference: AUC of the attack minus that of the baseline.
        n_members: Number of members compared.
        n_nonmembers: Number of non-members compared.
    """

    attack: str
    difference: Estimate
    n_members: int
    n_nonmembers: int


def find_gain(case: Case) -> GainOverBaseline | None:
    """Compare the headline attack with the baseline; return None without a baseline or its score per record."""
    if case.baseline is None or case.cross_fitted is None:
        return None
    attack = case.of(headline.find).name
    compared = case.truth.evaluated & case.cross_fitted.scored
    is_member = case.truth.member[compared]
    difference = auc_gain_within_folds(
        case.scores[attack][compared],
        case.cross_fitted.score[compared],
        is_member,
        case.cross_fitted.fold[compared],
        baseline_sd=case.baseline.permutation_std,
        at_least=CHANCE,
        clusters=optional_take(case.persons, case.cross_fitted.scored[case.truth.evaluated]),
    )
    return GainOverBaseline(
        attack=attack,
        difference=difference,
        n_members=int(is_member.sum()),
        n_nonmembers=int((~is_member).sum()),
    )


FEWEST = 0.1  # smallest effective sample size, as a share of the non-members
FEW = "few"  # codes of the reasons for omitted metrics
APART = "apart"
UNSEEN = "no features"


@dataclass(frozen=True)
class AdjustedRate(MeasuredRate):
    """TPR at a weighted false-positive rate."""


@dataclass(frozen=True)
class Adjusted:
    """Metrics of the headline attack with non-members weighted to match members.

    Attributes:
        attack: Name of the attack.
        members: Number of members compared.
        nonmembers: Number of non-members compared.
        effective_share: Effective sample size of the weighted non-members as a share of all of them.
        baseline_auc: AUC of the model-free baseline between members and weighted non-members.
        refused: Reason for omitted metrics: ``few``, ``apart`` or ``no features``; empty otherwise.
        auc: AUC of the attack; None if omitted, as are the following.
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


def find_adjusted(case: Case) -> Adjusted | None:
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
    """Evaluate an attack on weighted non-members, or return the reason why this is not possible.

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
