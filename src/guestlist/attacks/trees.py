"""An attack on trees by whoever has the model file: the leaves tell how many training records they were made from.

Of the candidates that fall in a leaf, as many were in the tree's training sample as the file says. Where two fall in a
leaf that was made from two, both are members; where one falls in a leaf of its class that holds none of that class, it
was not in this tree's sample.
"""

from __future__ import annotations

import numpy as np

from guestlist.views.evidence import LeavesView
from guestlist.views.signals import Signals

# A share of 1 or 0 is certain only if every member is a candidate, and no twin of one is missing: so, nearly certain.
NEARLY = 1e-6


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
        (records,) scores; NaN for records that are not asked about.
    """
    leaves = signals.evidence.need("leaves")
    asked = leaves.evaluated
    scores = np.full(len(asked), np.nan)
    if not leaves.leaf.shape[1]:
        return scores
    of_class = signals.labels[asked] if leaves.by_class else np.zeros(asked.sum(), dtype=np.int64)
    trees = [_log_ratio(leaves, tree, of_class) for tree in range(leaves.leaf.shape[1])]
    scores[asked] = np.mean(trees, axis=0)
    return scores


def _log_ratio(leaves: LeavesView, tree: int, of_class: np.ndarray) -> np.ndarray:
    """(asked records,) what one tree says."""
    asked = leaves.evaluated
    weight = np.ones(len(of_class)) if leaves.weight is None else leaves.weight[asked, tree]
    cell = leaves.leaf[asked, tree].astype(np.int64) * (of_class.max() + 1) + of_class
    candidates = np.bincount(cell, weight)[cell]
    held = np.ones(len(cell)) if leaves.held is None else leaves.held[asked, tree]
    share = np.minimum(held / candidates, 1)
    in_sample = leaves.rate if leaves.bag is None else min(leaves.rate, leaves.bag[tree] / weight.sum())
    if_member = in_sample / leaves.rate
    odds = (share / (1 - share + NEARLY)) / (in_sample / (1 - in_sample))
    return np.log(1 - if_member + if_member * odds + NEARLY)
