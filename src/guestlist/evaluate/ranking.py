"""Area under the ROC curve: the chance that a random member scores above a random non-member.

Intervals are DeLong's, on the scale of log-odds and with Student's quantile; where persons have several records, with
Obuchowski's variance (1997). DeLong's variance is 0 when members and non-members are separated perfectly, and too small
when they nearly are. A finite sample cannot be that sure, so the interval never excludes what an exact argument leaves
open (``_exact_room``).

It is also too small where scores are equal in lumps, as 0 and 1 are, for a lump that few records are in was easily missed.
An interval from tied scores therefore never excludes what bounds on the mean placement of either side leave open
(``_lump_room``). For scores of two values these are Clopper and Pearson's, and the interval holds Newcombe's for the
advantage, of which the AUC is half, plus one half.

Where non-members count by weights, so that they stand for people of another kind, a share of them is a share of their weight,
and the variance is that of a ratio of sums. The weights are taken as known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from guestlist.arrays.orders import MANY, cached_argsort
from guestlist.arrays.ranks import tie_ends
from guestlist.arrays.samples import cluster_codes, drop_unscored, error_of, optional_take, scored_weights
from guestlist.evaluate.estimate import WITHHELD, Estimate
from guestlist.evaluate.intervals import logit_interval, unanimous_bound
from guestlist.evaluate.persons import ClusterSums


class Placements(NamedTuple):
    """Where each record stands in the other group: the structural components of DeLong et al. (1988).

    ``member[i]``: share of non-members below member i; ``nonmember[j]``: share of members above non-member j;
    ties count one half. The mean of either is the AUC.
    """

    member: np.ndarray
    nonmember: np.ndarray

    @property
    def auc(self) -> float:
        return float(self.member.mean())


def placements(scores: np.ndarray, member: np.ndarray, weights: np.ndarray | None = None) -> Placements:
    """Placements in O(n log n), after Sun & Xu (2014), in the order in which the records are given.

    Args:
        weights: (non-members,) how much each counts; by default all alike.
    """
    if weights is not None:
        members, nonmembers = scores[member], scores[~member]
        return Placements(_mid_rank(members, nonmembers, weights), 1 - _mid_rank(nonmembers, members))
    order, place = cached_argsort(scores), np.empty(len(scores))
    if len(scores) > MANY:
        from guestlist.arrays.rank_sums import fill_placements  # imports numba

        fill_placements(scores, order, member, place)
        return Placements(place[member], 1 - place[~member])
    (first,), (last,) = tie_ends(scores[order][None])
    inside = member[order]
    for own in (inside, ~inside):
        others = np.append(0, np.cumsum(~own))  # that many of the other side are among the lowest so many
        place[order[own]] = (others[first[own]] + others[last[own] + 1]) / (2 * others[-1])
    return Placements(place[member], 1 - place[~member])


class ClusterCodes(NamedTuple):
    """Numbers of the persons whose records the members are, and the non-members; None where each record stands alone."""

    member: np.ndarray | None
    nonmember: np.ndarray | None

    @classmethod
    def of(cls, clusters: np.ndarray | None, member: np.ndarray) -> ClusterCodes:
        return cls(optional_take(clusters, member), optional_take(clusters, ~member))


def auc(
    scores: np.ndarray,
    member: np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    confidence: float = 0.95,
    placed: Placements | None = None,
) -> Estimate:
    """Area under the ROC curve by Mann-Whitney with mid-ranks, and DeLong's interval (DeLong et al. 1988).

    Args:
        scores: (records,) higher means likelier member; infinities are fine, NaN is left out.
        member: (records,) the truth.
        clusters: (records,) Person of each record; by default every record is independent.
        weights: (records,) how much each non-member counts; those of members are not read. By default all alike.
        confidence: of the interval.
        placed: the placements of the scores, where they are known already.

    Returns:
        The AUC, exactly 0.5 for a constant score; withheld without scored members or non-members. For one
        target: where several are pooled, use :func:`pooled_auc`.

    >>> auc(np.array([1.0, 1.0, 1.0]), np.array([True, False, True])).value
    0.5
    """
    error = error_of(confidence)
    clusters, weights = cluster_codes(clusters, scores), scored_weights(weights, scores)
    scores, member = drop_unscored(scores, member)
    if member.all() or not member.any():
        return WITHHELD
    owners, heavy = ClusterCodes.of(clusters, member), optional_take(weights, ~member)
    place = placed or placements(scores, member, heavy)
    counted = None if heavy is None else Placements(np.ones(len(place.member)), heavy)
    found = _interval(place, auc_variance(place, owners, counted), error)
    return _with_room(found, _lump_room(scores, member, place, owners, error, heavy))


def auc_difference(
    scores_a: np.ndarray,
    scores_b: np.ndarray,
    member: np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
    placed_a: Placements | None = None,
    placed_b: Placements | None = None,
) -> Estimate:
    """AUC of attack a minus AUC of attack b on the same records of one target (paired, DeLong et al. 1988).

    The interval is never narrower than what a sample of this size leaves open when the two attacks agree on
    every pair, as they do when both separate perfectly: see ``_exact_room``.

    Args:
        scores_a: (records,) scores of one attack; NaN is left out, together with its partner in ``scores_b``.
        scores_b: (records,) scores of the other attack.
        member: (records,) the truth.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: of the interval.
        placed_a, placed_b: the placements of the scores, where they are known already and no score is missing.
    """
    error = error_of(confidence)
    both = ~(np.isnan(scores_a) | np.isnan(scores_b))
    member = np.asarray(member, dtype=bool)[both]
    owners = ClusterCodes.of(cluster_codes(clusters, np.where(both, scores_a, np.nan)), member)
    if member.all() or not member.any():
        return WITHHELD
    if both.all():
        a, b = (
            placed_a or placements(*drop_unscored(scores_a, member)),
            placed_b or placements(*drop_unscored(scores_b, member)),
        )
    else:
        a, b = (placements(*drop_unscored(np.asarray(scores)[both], member)) for scores in (scores_a, scores_b))
    gap = Placements(a.member - b.member, a.nonmember - b.nonmember)
    return auc_difference_interval(a.auc - b.auc, auc_variance(gap, owners), error)


def auc_difference_interval(difference: float, spread: AucVariance, error: float, more: float = 0.0) -> Estimate:
    """A difference of AUCs with its interval; ``more`` is variance beyond that of the records."""
    half = 1 - unanimous_bound(spread.pairs, error / 2)
    if spread.variance > 0:
        half = max(half, spread.student(error) * np.sqrt(spread.variance + more))
    return Estimate(difference, float(max(difference - half, -1.0)), float(min(difference + half, 1.0)))


def effective_sizes(
    scores: np.ndarray, member: np.ndarray, *, clusters: np.ndarray | None = None
) -> tuple[float, float]:
    """As how many members and non-members of one record each these count, for the AUC: their number over its design effect.

    The design effect is that part of the AUC's variance which is due to a side, over what it would be if its records were
    independent. At least one per side that has scores, at most the records; the records where each stands alone.
    """
    clusters = cluster_codes(clusters, scores)
    scores, member = drop_unscored(scores, member)
    records = np.array([member.sum(), (~member).sum()], dtype=np.float64)
    if clusters is not None and records.all():
        place = placements(scores, member)
        alone, together = (
            np.array(delong_variance_parts(place)),
            auc_variance(place, ClusterCodes.of(clusters, member)).parts,
        )
        effect = np.divide(together, alone, out=np.ones(2), where=(alone > 0) & (together > 0))
        records = np.clip(records / effect, 1.0, records)
    return float(records[0]), float(records[1])


def smallest_detectable_auc(n_members: float, n_nonmembers: float) -> float:
    """The AUC that an audit of this size finds with 80 % power in a two-sided test at 5 %.

    0.5 + (1.96 + 0.84) standard deviations of the AUC of a score that knows nothing. Stands next to "nothing
    found". Where persons have several records, the numbers are those of :func:`effective_sizes`.

    >>> round(smallest_detectable_auc(500, 500), 3)
    0.551
    """
    return float(0.5 + 2.8 * np.sqrt((1 / n_members + 1 / n_nonmembers) / 12))


def delong_variance_parts(of: Placements) -> tuple[float, float]:
    """What members and what non-members contribute to DeLong's variance of the AUC, or of a difference."""
    members, nonmembers = (float(np.var(x, ddof=1)) / len(x) if len(x) > 1 else 0.0 for x in of)
    return members, nonmembers


class AucVariance(NamedTuple):
    """The variance of an AUC, or of a difference.

    Args:
        parts: what is due to members and to non-members.
        shared: what is due to persons who are both.
        freedom: degrees of freedom of either part.
        worth: number of persons on either side, less where a few have most of the records (Kish 1965).
        clusters: how many there are in all.
    """

    parts: np.ndarray
    shared: float
    dof: np.ndarray
    effective_n: tuple[float, float]
    n_clusters: int

    @property
    def pairs(self) -> float:
        """Of a member and a non-member, no two of which share a person."""
        return min(*self.effective_n, self.n_clusters / 2)

    @property
    def variance(self) -> float:
        """Never below the larger part: that shared persons cancel it is not taken on trust."""
        return float(max(self.parts.sum() + self.shared, self.parts.max()))

    def student(self, error: float) -> float:
        """Student's quantile with Satterthwaite's degrees of freedom: few persons tell little of their spread."""
        freedom = self.parts.sum() ** 2 / (self.parts**2 / np.maximum(self.dof, 1)).sum()
        return float(special.stdtrit(freedom, 1 - error / 2))


def auc_variance(of: Placements, owners: ClusterCodes, weights: Placements | None = None) -> AucVariance:
    """DeLong's variance; where persons have several records, Obuchowski's: components are added up within a person.

    A person pulls the mean towards themselves, the more so the more records they have: their deviation is divided by the
    root of one minus their share of the records (Bell & McCaffrey 2002), which is DeLong's n - 1 for one record each.

    Args:
        weights: how much each component counts: a person then has as many records as theirs weigh. By default all alike.
    """
    if owners.member is None or owners.nonmember is None:
        sizes = len(of.member), len(of.nonmember)
        if weights is None:
            return AucVariance(np.array(delong_variance_parts(of)), 0.0, np.array(sizes) - 1, sizes, sum(sizes))
        codes = np.arange(sizes[0]), sizes[0] + np.arange(sizes[1])
    else:
        codes = owners.member, owners.nonmember
    weights = Placements(*map(np.ones_like, of)) if weights is None else weights
    clusters = int(max(who.max() for who in codes)) + 1
    moved, records = np.zeros((2, clusters)), np.empty((2, clusters))
    for side, (place, who, weight) in enumerate(zip(of, codes, weights, strict=True)):
        total = weight.sum()
        records[side] = np.bincount(who, weight, minlength=clusters)
        rest = 1 - records[side] / total
        off = np.bincount(who, weight * (place - (weight @ place) / total), minlength=clusters) / total
        np.divide(off, np.sqrt(rest), out=moved[side], where=rest > 0)  # nobody else: nothing is known of their spread
    parts, shared = np.square(moved).sum(axis=1), 2 * float(moved[0] @ moved[1])
    squares = np.square(records)
    # As if a person's records were all alike: then squares of their numbers decide who tells how much of the spread.
    freedom = squares.sum(axis=1) ** 2 / np.square(squares).sum(axis=1) - 1
    worth = records.sum(axis=1) ** 2 / squares.sum(axis=1)
    return AucVariance(parts, shared, freedom, (float(worth[0]), float(worth[1])), clusters)


def _interval(of: Placements, spread: AucVariance, error: float) -> Estimate:
    value = of.auc
    low, high = _exact_room(of, spread, error)
    if (
        spread.variance == 0 or not 0 < value < 1
    ):  # weights leave rounding errors behind where all placements are the same
        return Estimate(value, min(low, value), max(high, value))
    smooth = logit_interval(value, np.sqrt(spread.variance), spread.student(error))
    return _with_room(smooth, (low, high))


def _with_room(found: Estimate, room: tuple[float, float]) -> Estimate:
    return Estimate(found.value, min(found.low, room[0]), max(found.high, room[1]))


def _exact_room(of: Placements, spread: AucVariance, error: float) -> tuple[float, float]:
    """What no sample of this size can exclude.

    Match members and non-members in min(n1, n0) pairs that share no record, and no person. The pairs are independent,
    and each is in the right order with a chance equal to the AUC, so perfect separation refutes an AUC below
    (error / 2)**(1 / pairs). A sample that is not perfectly separated must not claim more than that; nor, the
    other way round, one that is not perfectly reversed.

    A group of n whose placements are all the same, as in a lump of ties, shows no variance. By the same
    argument a share of up to 1 - (error / 2)**(1 / n) of its population may be placed anywhere else.
    """
    value = of.auc
    low = unanimous_bound(spread.pairs, error / 2)
    high = 1 - low
    for n in (n for x, n in zip(of, spread.effective_n, strict=True) if np.ptp(x) == 0):
        bound = unanimous_bound(n, error / 2)
        low, high = min(low, value * bound), max(high, 1 - (1 - value) * bound)
    return low, high


def _lump_room(
    scores: np.ndarray,
    member: np.ndarray,
    of: Placements,
    owners: ClusterCodes,
    error: float,
    weights: np.ndarray | None = None,
) -> tuple[float, float]:
    """What bounds on the mean placement of either side leave open, squared and added; nothing where no scores tie.

    Scores of two values have two placements. Of more there may be some that were not seen, anywhere in [0, 1].
    """
    ordered, value = scores[cached_argsort(scores)], of.auc
    values = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    if len(values) == len(scores):
        return value, value
    reach = Placements(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    if len(values) == 2:
        reach = Placements(_mid_rank(values, scores[~member], weights), 1 - _mid_rank(values[::-1], scores[member]))
    below, above = 0.0, 0.0
    for place, who, (floor, ceiling), heavy in zip(of, owners, reach, (None, weights), strict=True):
        sums = ClusterSums.of((place - floor) / (ceiling - floor), who, heavy)
        low, high = (floor + (ceiling - floor) * end(error / 2) for end in (sums.lower, sums.upper))
        below, above = np.hypot(below, value - low), np.hypot(above, high - value)
    return float(max(value - below, 0.0)), float(min(value + above, 1.0))


def _mid_rank(of: np.ndarray, among: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Share of ``among`` below each value, ties counting one half."""
    if weights is not None:
        order = np.argsort(among, kind="stable")
        among, below = among[order], np.append(0.0, np.cumsum(weights[order]))
        return (below[np.searchsorted(among, of, "left")] + below[np.searchsorted(among, of, "right")]) / (
            2 * below[-1]
        )
    among = np.sort(among)
    return (np.searchsorted(among, of, "left") + np.searchsorted(among, of, "right")) / (2 * len(among))
