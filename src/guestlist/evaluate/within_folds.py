"""By how much an attack outranks a classifier that was cross-fitted on the same records.

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
        member: (records,) the truth.
        fold: (records,) numbers of the folds.
        baseline_sd: standard deviation of the classifier's AUC when memberships are exchanged.
        at_least: AUC that the classifier is taken to reach where it does worse, such as 0.5; None compares with its AUC only.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: of the interval.
    """
    error = error_of(confidence)
    both = ~(np.isnan(scores) | np.isnan(fitted))
    for one in np.unique(fold[both]):  # a fold without a pair says nothing
        kinds = np.unique(member[both & (fold == one)])
        both &= (fold != one) | (len(kinds) == 2)
    if not both.any():
        return WITHHELD
    member, fold = np.asarray(member, dtype=bool)[both], fold[both]
    owners = ClusterCodes.of(cluster_codes(clusters, np.where(both, scores, np.nan)), member)
    a, b = (_within(np.asarray(values, dtype=np.float64)[both], member, fold) for values in (scores, fitted))
    pairs = Placements(*(np.bincount(fold, ~side)[fold[side]] for side in (member, ~member)))  # that each record is in
    gap = Placements(a.member - b.member, a.nonmember - b.nonmember)
    value = float(pairs.member @ gap.member / pairs.member.sum())
    more = max(baseline_sd**2 - auc_variance(b, owners, pairs).variance, 0.0)
    beyond = auc_difference_interval(value, auc_variance(gap, owners, pairs), error, more)
    if at_least is None:
        return beyond
    own = float(pairs.member @ a.member / pairs.member.sum()) - at_least
    alone = auc_difference_interval(own, auc_variance(a, owners, pairs), error)
    return Estimate(*(min(both) for both in zip(beyond, alone, strict=True)))


def _within(scores: np.ndarray, member: np.ndarray, fold: np.ndarray) -> Placements:
    """Where each record stands among those of the other side in its fold, in the order in which they are given."""
    found = np.empty(len(scores))
    for one in np.unique(fold):
        inside = fold == one
        of_fold = placements(scores[inside], member[inside])
        found[inside & member], found[inside & ~member] = of_fold
    return Placements(found[member], found[~member])
