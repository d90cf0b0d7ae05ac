"""Attack on trees by an adversary with the model file, which holds the number of training records of each leaf.

If two candidates fall in a leaf with two training records, both are members; if a candidate falls in a leaf that has no
training record of its class, it was not in this tree's sample.
"""

from __future__ import annotations

import numpy as np

from guestlist.views.evidence import LeavesView
from guestlist.views.signals import Signals

# A share of 1 or 0 is certain only if every member, and every duplicate of one, is a candidate: so it is nearly certain.
SMOOTHING = 1e-6


def leaf_shares(signals: Signals) -> np.ndarray:
    """Mean over trees of the log-likelihood ratio of a leaf's training count, with the record in training and without.

    Let a leaf hold ``n`` records of the tree's training sample, ``c`` candidates fall in it, and each of them be in the
    sample with probability ``b``, a member with probability ``q``. If the counts are binomial, then
    P(n | member) / P(n | non-member) = 1 - q + q (n / (c - n)) / (b / (1 - b)). ``b`` is the size of the sample over the
    number of candidates, and ``q`` is ``b`` over the share of members: 1 where each tree trains on all of them, 0.63 for
    a bootstrap. Where the model counts classes apart (forests of scikit-learn), only candidates and training records of
    the record's class are counted. A model that keeps no counts has at least one training record in each leaf.

    The attacker knows the model file, the candidates with their labels, among them all members, and the share of members.

    Returns:
        (records,) scores; NaN for records that are not evaluated.
    """
    leaves = signals.evidence.need("leaves")
    rows = leaves.evaluated
    scores = np.full(len(rows), np.nan)
    if not leaves.leaf.shape[1]:
        return scores
    classes = np.zeros(rows.sum(), dtype=np.int64)
    if leaves.by_class:
        classes = signals.labels[rows]
    trees = [_tree_log_ratio(leaves, tree, classes) for tree in range(leaves.leaf.shape[1])]
    scores[rows] = np.mean(trees, axis=0)
    return scores


def _tree_log_ratio(leaves: LeavesView, tree: int, classes: np.ndarray) -> np.ndarray:
    """Return (evaluated records,) log-likelihood ratios of one tree."""
    rows = leaves.evaluated
    weight = np.ones(len(classes)) if leaves.weight is None else leaves.weight[rows, tree]
    cell = leaves.leaf[rows, tree].astype(np.int64) * (classes.max() + 1) + classes
    candidates = np.bincount(cell, weight)[cell]
    held = np.ones(len(cell)) if leaves.held is None else leaves.held[rows, tree]
    share = np.minimum(held / candidates, 1)
    in_sample = leaves.rate
    if leaves.bag is not None:
        in_sample = min(in_sample, leaves.bag[tree] / weight.sum())
    if_member = in_sample / leaves.rate
    odds = (share / (1 - share + SMOOTHING)) / (in_sample / (1 - in_sample))
    return np.log(1 - if_member + if_member * odds + SMOOTHING)
