"""Gain of the headline attack over the model-free baseline."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.case import Case
from guestlist.evaluate import Estimate, auc_gain_within_folds
from guestlist.findings import headline
from guestlist.findings.attacks import CHANCE


@dataclass(frozen=True)
class GainOverBaseline:
    """AUC of the headline attack minus the larger of 0.5 and that of the model-free baseline.

    Both are measured on the same records, over pairs within a cross-fitting fold. The interval is DeLong's for paired scores,
    clustered by person where person identifiers are given, and widened for cross-fitting.
    """

    attack: str
    gain: Estimate
    members: int
    nonmembers: int


def find(case: Case) -> GainOverBaseline | None:
    """Compare the headline attack with the baseline; None where there is no baseline, or no score of it per record."""
    if case.baseline is None or case.cross_fitted is None:
        return None
    name, asked = case.of(headline.find).name, case.truth.evaluated
    seen = case.cross_fitted.scored[asked]
    member = case.truth.member_evaluated[seen]
    gain = auc_gain_within_folds(
        case.scores[name][asked][seen],
        case.cross_fitted.score[asked][seen],
        member,
        case.cross_fitted.fold[asked][seen],
        baseline_sd=case.baseline.permutation_std,
        at_least=CHANCE,
        clusters=None if case.persons is None else case.persons[seen],
    )
    return GainOverBaseline(name, gain, int(member.sum()), int((~member).sum()))
