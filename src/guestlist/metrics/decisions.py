"""Decisions at a threshold: flags, realised levels, agreement, the ROC curve and conformal p-values."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guestlist._kernels import (
    best_threshold_sorted,
    cached_argsort,
    cluster_codes,
    consecutive_codes,
    scored_records,
)
from guestlist.metrics.intervals import ROUNDING, WITHHELD, Estimate, newcombe_difference, proportions_by_class
from guestlist.metrics.low_fpr import check_share, threshold_at_fpr


@dataclass(frozen=True)
class CrossFit:
    """Threshold that is chosen on one half of the records and applied to the other half, and vice versa.

    The halves hold equal shares of members. A person's records stay together; a person with a member record counts as a
    member.

    Attributes:
        seed: Random seed of the halves.

    Examples:
        >>> member = np.arange(200) < 100
        >>> flagged = gl.metrics.flag_members(member.astype(float), member, gl.metrics.CrossFit(seed=1))
        >>> bool((flagged == member).all())
        True
    """

    seed: int = 0

    def halves(self, member: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
        """Return (records,) false for the first half, true for the second."""
        if clusters is None:
            codes = np.arange(len(member))
        else:
            codes = consecutive_codes(np.asarray(clusters))
        is_member = np.bincount(codes, member) > 0
        rng = np.random.default_rng(self.seed)
        second = np.zeros(len(is_member), dtype=bool)
        for kind in (is_member, ~is_member):
            drawn = rng.permutation(np.flatnonzero(kind))
            second[drawn[: len(drawn) // 2]] = True
        return second[codes]


CROSS_FIT = CrossFit()


def flag_members(
    scores: np.ndarray, member: np.ndarray, threshold: float | CrossFit, *, clusters: np.ndarray | None = None
) -> np.ndarray:
    """Flag records as members; a record without a score is never flagged.

    Args:
        scores: (records,) Higher means likelier member; NaN has no score.
        member: (records,) True for members; only :class:`CrossFit` reads it, for the other half.
        threshold: Smallest score that is flagged, or :class:`CrossFit`.
        clusters: (records,) Person of each record, for :class:`CrossFit`; by default every record is independent.

    Returns:
        (records,) true for flagged records.

    Examples:
        >>> gl.metrics.flag_members([0.2, 0.9, np.nan], [False, True, True], 0.5).tolist()
        [False, True, False]
    """
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member, dtype=bool)
    if not isinstance(threshold, CrossFit):
        return scores >= threshold
    scored = np.flatnonzero(~np.isnan(scores))
    second_half = np.zeros(len(scores), dtype=bool)
    second_half[scored] = threshold.halves(member[scored], cluster_codes(clusters, scores))
    ranked = cached_argsort(scores)[: len(scored)][::-1]
    in_second = second_half[ranked]
    halves = (ranked[~in_second], ranked[in_second])
    thresholds = [best_threshold_sorted(scores[rows], member[rows]) for rows in halves]
    # Records of the second half are flagged by the threshold of the first half.
    return scores >= np.where(second_half, thresholds[0], thresholds[1])


def advantage(
    scores: np.ndarray,
    member: np.ndarray,
    threshold: float | CrossFit = CROSS_FIT,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute TPR - FPR at a threshold (Yeom et al. 2018), with Newcombe's interval (1998).

    Args:
        scores: (records,) Higher means likelier member; infinities are allowed, NaN is ignored.
        member: (records,) True for members.
        threshold: A number chosen without these records, or :class:`CrossFit` (the default), which gives the mean
            advantage of two thresholds, each on records that it was not chosen on.
        clusters: (records,) Person of each record; by default every record is independent. Persons who have both member
            and non-member records count in both shares; the interval is then conservative.
        confidence: Nominal coverage of the interval.

    Returns:
        The advantage in [-1, 1]; withheld without scored members or non-members, and without two of each
        (persons, if they are given) if the threshold is estimated.

    Examples:
        >>> print(gl.metrics.advantage(np.arange(100.0), np.arange(100) >= 50, threshold=50.0))
        1.000 [0.899, 1.000]
    """
    scores, member, clusters, _ = scored_records(scores, member, clusters)
    if not _can_evaluate(member, clusters, threshold):
        return WITHHELD
    flagged = flag_members(scores, member, threshold, clusters=clusters)
    tpr, fpr = proportions_by_class(flagged, member, clusters=clusters, confidence=confidence)
    return newcombe_difference(tpr, fpr)


def _can_evaluate(member: np.ndarray, clusters: np.ndarray | None, threshold: float | CrossFit) -> bool:
    """Return True if there are members and non-members to evaluate, and in both halves for a cross-fitted threshold."""
    if not isinstance(threshold, CrossFit):
        return bool(member.any() and not member.all())
    if clusters is None:
        return bool(min(member.sum(), (~member).sum()) >= 2)
    second = threshold.halves(member, clusters)
    return all(bool((kind & half).any()) for kind in (member, ~member) for half in (second, ~second))


def balanced_accuracy(
    scores: np.ndarray,
    member: np.ndarray,
    threshold: float | CrossFit = CROSS_FIT,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Compute (TPR + TNR) / 2 at a threshold: (1 + :func:`advantage`) / 2, interval included.

    Args:
        scores, member, threshold, clusters, confidence: As for :func:`advantage`.

    Returns:
        The accuracy in [0, 1] if half of the records are members.

    Examples:
        >>> print(gl.metrics.balanced_accuracy(np.arange(100.0), np.arange(100) >= 50, threshold=50.0))
        1.000 [0.950, 1.000]
    """
    estimate = advantage(scores, member, threshold, clusters=clusters, confidence=confidence)
    return Estimate(*((1 + end) / 2 for end in estimate))


def rates_at_level(
    p_values: np.ndarray,
    member: np.ndarray,
    alpha: float,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """Compute FPR and TPR of a test that flags records with a p-value of at most ``alpha`` (Ye et al. 2022).

    A calibrated test has an FPR of at most ``alpha``.

    Args:
        p_values: (records,) p-values; NaN is ignored.
        member: (records,) True for members.
        alpha: Nominal level, in [0, 1].
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of each interval.

    Returns:
        FPR and TPR; each is withheld if no record of its class has a p-value.

    Examples:
        >>> member = np.array([True, False, False, False])
        >>> fpr, tpr = gl.metrics.rates_at_level(np.array([0.01, 0.04, 0.2, 0.6]), member, alpha=0.05)
        >>> print(fpr)
        0.333 [0.008, 0.906]
    """
    check_share(alpha=alpha)
    p_values, member, clusters, _ = scored_records(p_values, member, clusters)
    tpr, fpr = proportions_by_class(p_values <= alpha, member, clusters=clusters, confidence=confidence)
    return fpr, tpr


TRUTH = "truth"
RECORDS_PER_BLOCK = 2**16  # records


@dataclass(frozen=True)
class Agreement:
    """Share of records on which two attacks agree, for all pairs; the first row is the truth.

    Attributes:
        names: "truth", then the attacks.
        members: (names, names) Shares of members on which two agree.
        nonmembers: (names, names) Shares of non-members on which two agree.

    Examples:
        >>> shares = gl.metrics.agreement({"a": [1, 0, 1, 0]}, np.array([True, True, False, False]))
        >>> shares.names, shares.nonmembers.tolist()
        (('truth', 'a'), [[1.0, 0.5], [0.5, 1.0]])
    """

    names: tuple[str, ...]
    members: np.ndarray
    nonmembers: np.ndarray


def agreement(flags: Mapping[str, np.ndarray], member: np.ndarray) -> Agreement:
    """Compute the shares of members and non-members on which two attacks agree (Ye et al. 2022, Table 2).

    The row of the truth holds each attack's TPR (members) and 1 - FPR (non-members).

    Args:
        flags: Attack to (records,) flags, true where it flags a record as a member; NaN where it has no score. A pair is
            compared on the records that both score. :func:`flags_at_level` and :func:`flags_at_fpr` make them.
        member: (records,) True for members.

    Returns:
        The names and two symmetric matrices; NaN if no record was scored by both.

    Raises:
        ValueError: If flags are not shaped as ``member``, or not true, false or NaN.

    Examples:
        >>> shares = gl.metrics.agreement({"a": [1, 0, 1], "b": [1, 1, np.nan]}, np.array([True, True, False]))
        >>> shares.names, shares.members[0].tolist()
        (('truth', 'a', 'b'), [1.0, 0.5, 1.0])
    """
    member = np.asarray(member, dtype=bool)
    rows = [member, *map(np.asarray, flags.values())]
    for name, row in zip((TRUTH, *flags), rows, strict=True):
        if np.shape(row) != member.shape or member.ndim != 1:
            raise ValueError(f"Expected flags of {name!r} shaped {member.shape}, found {np.shape(row)}.")
    same, known = np.zeros((2, 2, len(rows), len(rows)))  # counts of non-members and of members
    for start in range(0, len(member), RECORDS_PER_BLOCK):
        block = slice(start, start + RECORDS_PER_BLOCK)
        batch = np.array([row[block] for row in rows], dtype=np.float64)
        if not ((batch == 0.0) | (batch == 1.0) | np.isnan(batch)).all():
            raise ValueError("Expected flags to be true, false or NaN.")
        for side in (0, 1):
            yes, no = ((batch[:, member[block] == side] == value).astype(np.float64) for value in (1.0, 0.0))
            same[side] += yes @ yes.T + no @ no.T
            known[side] += (yes + no) @ (yes + no).T
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no record is scored by both
        nonmembers, members = same / known
    return Agreement((TRUTH, *flags), members, nonmembers)


def flags_at_level(p_values: np.ndarray, alpha: float) -> np.ndarray:
    """Flag records whose p-value is at most ``alpha``.

    Args:
        p_values: (records,) p-values.
        alpha: Level of the test, in [0, 1].

    Returns:
        (records,) 1.0 for flagged records, 0.0 for others; NaN stays NaN.

    Examples:
        >>> gl.metrics.flags_at_level(np.array([0.01, 0.2, np.nan]), alpha=0.05).tolist()
        [1.0, 0.0, nan]
    """
    check_share(alpha=alpha)
    p_values = np.asarray(p_values, dtype=np.float64)
    return np.where(np.isnan(p_values), np.nan, p_values <= alpha)


def flags_at_fpr(scores: np.ndarray, member: np.ndarray, fpr: float) -> np.ndarray:
    """Flag records above the threshold that meets ``fpr`` on these non-members.

    The threshold uses true membership. Use it to compare attacks at one rate, not to evaluate one.

    Args:
        scores: (records,) Higher means likelier member.
        member: (records,) True for members.
        fpr: Largest share of non-members that are flagged.

    Returns:
        (records,) 1.0 for flagged records, 0.0 for others; NaN without a score.

    Examples:
        >>> gl.metrics.flags_at_fpr(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, False, True, False]), fpr=0.0).tolist()
        [1.0, 0.0, 0.0, 0.0]
    """
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member, dtype=bool)
    return np.where(np.isnan(scores), np.nan, scores >= threshold_at_fpr(scores[~member], fpr))


MOST_POINTS = 400


@dataclass(frozen=True)
class Roc:
    """Points of a ROC curve up to (1, 1); the function that made them documents how to join them.

    Attributes:
        fpr: False positive rates, rising.
        tpr: True positive rates, rising.

    Examples:
        >>> curve = gl.metrics.roc(np.array([2.0, 1.0, 0.0]), np.array([True, False, True]))
        >>> curve.fpr.tolist(), curve.tpr.tolist()
        ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0])
    """

    fpr: np.ndarray
    tpr: np.ndarray


def roc(scores: np.ndarray, member: np.ndarray, *, weights: np.ndarray | None = None) -> Roc:
    """Compute the ROC curve from (0, 0) in at most 400 points, each of them exact.

    Join the points by straight lines: tied scores make a slanted segment, whose area equals that of mid-ranks. Points are
    omitted where they are dense, evenly along the curve in linear and logarithmic axes together. In either plot the curve
    moves by at most 1% of an axis.

    Args:
        scores: (records,) Higher means likelier member; NaN is ignored.
        member: (records,) True for members.
        weights: (records,) Weights of the non-members; those of members are ignored. By default all equal.

    Returns:
        The points; without scored members or non-members only (0, 0) and (1, 1).

    Examples:
        >>> curve = gl.metrics.roc(np.array([1.0, 1.0, 0.0]), np.array([True, False, False]))
        >>> curve.fpr.tolist(), curve.tpr.tolist()
        ([0.0, 0.5, 1.0], [0.0, 1.0, 1.0])
    """
    points = _points(scores, member, weights)
    if points is None:
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    false, tpr = points
    fpr = false / false[-1]
    selected = _corners(fpr, tpr)
    selected = selected[_thin(fpr[selected], tpr[selected])]
    return Roc(fpr[selected], tpr[selected])


def roc_steps(
    scores: np.ndarray,
    member: np.ndarray,
    *,
    at: np.ndarray | tuple[float, ...] = (),
    weights: np.ndarray | None = None,
) -> Roc:
    """Compute the TPR at every FPR as in ``tpr_at_fpr``: a step curve; equal scores are flagged together or not at all.

    Draw each step to the right from a point, then up at the next. Points are thinned as in :func:`roc`, so that between
    points the steps may be too low, by at most 1% of an axis; at each of ``at`` they are exact.

    Args:
        scores: (records,) Higher means likelier member; NaN is ignored.
        member: (records,) True for members.
        at: FPRs that are kept as points.
        weights: As for :func:`roc`.

    Returns:
        The points of the step curve.

    Examples:
        >>> scores, member = np.array([2.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
        >>> gl.metrics.roc_steps(scores, member, at=(0.25,)).tpr.tolist()
        [0.5, 0.5, 1.0, 1.0]
    """
    at = np.unique(np.asarray(at, dtype=np.float64))
    check_share(at=at)
    points = _points(scores, member, weights)
    if points is None:
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    false, tpr = points
    fpr = false / false[-1]
    allowed = at * false[-1]
    # Rounded as in tpr_at_fpr: a share of 0.29 of 100 people is 29 people.
    wanted = np.searchsorted(false, allowed + ROUNDING * (1 if weights is None else allowed), "right") - 1
    highest = np.append(np.diff(fpr) > 0, True)  # the highest of the points at one FPR
    exact = tpr[wanted]
    fpr = fpr[highest]
    tpr = tpr[highest]
    # The points where the curve rises, and the end even if the curve is flat there.
    selected = np.append(np.flatnonzero(np.diff(tpr, prepend=-1.0) > 0), len(fpr) - 1)
    selected = np.unique(selected[_thin(fpr[selected], tpr[selected])])
    drawn = np.unique(np.stack([np.append(fpr[selected], at), np.append(tpr[selected], exact)]), axis=1)
    return Roc(*drawn)


def _points(scores: np.ndarray, member: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the number (or weight) of non-members and the share of members down to each distinct score.

    The result is None without scored members or non-members.
    """
    scores, member, _, weights = scored_records(scores, member, weights=weights)
    if member.all() or not member.any():
        return None
    order = cached_argsort(scores)[::-1]  # the order of ties is arbitrary: only counts at the end of a tie are kept
    ranked = scores[order]
    is_member = member[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    tpr = np.concatenate([[0], np.cumsum(is_member)[last]]) / member.sum()
    false = ~is_member if weights is None else np.where(is_member, 0.0, weights[order])
    return np.concatenate([[0], np.cumsum(false)[last]]), tpr


def _corners(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """Return indices of the ends and of the points where the curve turns; other points are redundant."""
    across = np.diff(fpr)
    up = np.diff(tpr)
    straight = np.isclose(across[1:] * up[:-1], across[:-1] * up[1:], rtol=1e-9, atol=0)
    return np.flatnonzero(np.concatenate([[True], ~straight, [True]]))


def _thin(fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """Return indices of at most ``MOST_POINTS`` points, evenly spaced along four axes, each of length 1."""
    if len(fpr) <= MOST_POINTS:
        return np.arange(len(fpr))
    length = fpr + tpr + _log_axis(fpr) + _log_axis(tpr)
    selected = np.searchsorted(length, np.linspace(0, length[-1], MOST_POINTS), "left").clip(0, len(fpr) - 1)
    return np.union1d(selected, [0, len(fpr) - 1])


def _log_axis(rate: np.ndarray) -> np.ndarray:
    """Return the position on a logarithmic axis: 0 is just below the smallest positive rate, and 1 is a rate of 1."""
    smallest = rate[rate > 0].min() / 2
    return 1 - np.log(np.maximum(rate, smallest)) / np.log(smallest)


def conformal_p_values(scores: np.ndarray, calibration_scores: np.ndarray) -> np.ndarray:
    """Compute conformal p-values of scores among those of known non-members (Vovk et al. 2005).

    The p-value is (1 + number of calibration non-members that score at least as high) / (n + 1).

    Args:
        scores: (records,) Scores of the evaluated records.
        calibration_scores: (n,) Scores of known non-members that are not evaluated; NaN is ignored.

    Returns:
        (records,) p-values in [1 / (n + 1), 1], small where membership is likely. For a non-member that is
        exchangeable with the calibration records, P(p <= a) <= a. NaN where the score is NaN.

    Examples:
        >>> gl.metrics.conformal_p_values(np.array([2.5, 0.0]), np.array([1.0, 2.0, 3.0])).tolist()
        [0.5, 1.0]
    """
    scores = np.asarray(scores, dtype=np.float64)
    calibration = np.asarray(calibration_scores, dtype=np.float64)
    calibration = np.sort(calibration[~np.isnan(calibration)])
    n_at_least = len(calibration) - np.searchsorted(calibration, scores, "left")
    return np.where(np.isnan(scores), np.nan, (1 + n_at_least) / (len(calibration) + 1))
