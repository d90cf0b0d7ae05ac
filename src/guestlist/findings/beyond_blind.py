"""Gain of the headline attack over the model-free baseline."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.arrays.samples import optional_take
from guestlist.case import Case
from guestlist.evaluate import Estimate, auc_gain_within_folds
from guestlist.findings import headline
from guestlist.findings.attacks import CHANCE


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


def find(case: Case) -> GainOverBaseline | None:
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
