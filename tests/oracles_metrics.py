"""Slow and obvious versions of what ``guestlist.metrics`` computes fast."""

from __future__ import annotations

import numpy as np


def ordered(a: float, b: float) -> float:
    """1 if a is above b, 0.5 if they tie, else 0."""
    return 1.0 if a > b else 0.5 if a == b else 0.0


def auc(scores, member) -> float:
    """Mann-Whitney, pair by pair."""
    members, nonmembers = scores[member], scores[~member]
    return float(np.mean([[ordered(x, y) for y in nonmembers] for x in members]))


def delong_covariance(scores_a, scores_b, member) -> float:
    """Covariance of two AUCs from structural components, written as DeLong et al. (1988) define them."""
    parts = []
    for scores in (scores_a, scores_b):
        pairs = np.array([[ordered(x, y) for y in scores[~member]] for x in scores[member]])
        parts.append((pairs.mean(axis=1), pairs.mean(axis=0)))
    (member_a, nonmember_a), (member_b, nonmember_b) = parts
    return np.cov(member_a, member_b)[0, 1] / len(member_a) + np.cov(nonmember_a, nonmember_b)[0, 1] / len(nonmember_a)


def tpr_at_fpr(scores, member, fpr) -> float:
    """Tries every observed threshold from the lowest up, and the first that meets the FPR is taken."""
    for threshold in np.sort(scores):
        if np.sum(scores[~member] > threshold) <= fpr * np.sum(~member) + 1e-9:
            return float(np.mean(scores[member] > threshold))
    raise AssertionError("The largest score is not exceeded.")


def best_advantage(scores, member) -> float:
    """The largest TPR - FPR over observed thresholds, with calls score >= threshold."""
    return max(np.mean(scores[member] >= t) - np.mean(scores[~member] >= t) for t in scores)


def pooled_auc(scores, member) -> float:
    """Mean over targets of the pairwise AUC."""
    scored = ~np.isnan(scores)
    return float(np.mean([auc(scores[k, scored[k]], member[k, scored[k]]) for k in range(len(scores))]))


def resampled_pooled_auc(scores, member, groups, draws, rng) -> np.ndarray:
    """Pooled AUCs of data sets in which whole groups of records were drawn with replacement."""
    names = np.unique(groups)
    values = []
    for _ in range(draws):
        chosen = rng.choice(names, size=len(names))
        records = np.concatenate([np.flatnonzero(groups == name) for name in chosen])
        values.append(pooled_auc(scores[:, records], member[:, records]))
    return np.array(values)


def agreement(first, other, kind) -> float:
    """Share of the records of one kind about which both speak, on which they say the same; counted one by one."""
    both = same = 0
    for a, b, counts in zip(first, other, kind, strict=True):
        if counts and not np.isnan(a) and not np.isnan(b):
            both += 1
            same += bool(a) == bool(b)
    return same / both if both else float("nan")
