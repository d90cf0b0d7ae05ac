"""AUC gain of an attack over a classifier that was cross-fitted on the same records.

Scores of a cross-fitted classifier are comparable within a fold, so both AUCs are over the pairs of a member and a non-member
of one fold. The paired interval of DeLong et al. (1988) takes the classifier as given, though folds learn from each other's
records: it is too narrow where there is little to learn. By how much the classifier's AUC varies when memberships are
exchanged at random is known; what that exceeds DeLong's variance of it by is added.
"""

from __future__ import annotations

import numpy as np

from guestlist.arrays.samples import cluster_codes, error_of
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.ranking import ClusterCodes, Placements, auc_difference_interval, auc_variance, placements


def auc_gain_within_folds(
    scores: np.ndarray,
    fitted: np.ndarray,
    member: np.ndarray,
    fold: np.ndarray,
    *,
    baseline_sd: float = 0.0,
    at_least: float | None = None,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """AUC of ``scores`` minus that of cross-fitted scores, over pairs of records of one fold.

    With ``at_least`` it is the AUC minus the larger of two: that of the cross-fitted scores, and ``at_least``. This is the
    smaller of two differences, and each end of its interval is the smaller of theirs.

    Args:
        scores: (records,) of an attack; NaN is left out, together with its partner.
        fitted: (records,) of the classifier, by folds that did not teach it.
        member: (records,) True for members.
        fold: (records,) numbers of the folds.
        baseline_sd: standard deviation of the classifier's AUC when memberships are exchanged.
        at_least: AUC that the classifier is taken to reach where it does worse, such as 0.5; None compares with its AUC only.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of the interval.
    """
    error = error_of(confidence)
    compared = ~(np.isnan(scores) | np.isnan(fitted))
    for number in np.unique(fold[compared]):  # A fold without both classes is dropped.
        kinds = np.unique(member[compared & (fold == number)])
        compared &= (fold != number) | (len(kinds) == 2)
    if not compared.any():
        return WITHHELD
    member = np.asarray(member, dtype=bool)[compared]
    fold = fold[compared]
    codes = ClusterCodes.split(cluster_codes(clusters, np.where(compared, scores, np.nan)), member)
    a, b = (
        _placements_within(np.asarray(values, dtype=np.float64)[compared], member, fold) for values in (scores, fitted)
    )
    pairs = Placements(*(np.bincount(fold, ~side)[fold[side]] for side in (member, ~member)))  # that each record is in
    gap = Placements(a.member - b.member, a.nonmember - b.nonmember)
    value = float(pairs.member @ gap.member / pairs.member.sum())
    extra_variance = max(baseline_sd**2 - auc_variance(b, codes, pairs).total, 0.0)
    beyond = auc_difference_interval(value, auc_variance(gap, codes, pairs), error, extra_variance)
    if at_least is None:
        return beyond
    gain_over_floor = float(pairs.member @ a.member / pairs.member.sum()) - at_least
    over_floor = auc_difference_interval(gain_over_floor, auc_variance(a, codes, pairs), error)
    return Estimate(*(min(ends) for ends in zip(beyond, over_floor, strict=True)))


def _placements_within(scores: np.ndarray, member: np.ndarray, fold: np.ndarray) -> Placements:
    """Compute placements among the other class within each fold, in the order of the records."""
    shares = np.empty(len(scores))
    for number in np.unique(fold):
        inside = fold == number
        of_fold = placements(scores[inside], member[inside])
        shares[inside & member], shares[inside & ~member] = of_fold
    return Placements(shares[member], shares[~member])
