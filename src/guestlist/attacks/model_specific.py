"""Attacks on a model's parameters, tree leaves or K-NN structure."""

from typing import Literal

import numpy as np
import scipy

from guestlist import knn
from guestlist._views import LeavesView, Signals
from guestlist.attacks.classifiers import ROWS, balanced, hashes

TREES = 100
# Minimum number of records in a leaf: single features separate members weakly, so smaller leaves would fit noise.
LEAF = 20


def white_box(signals: Signals) -> np.ndarray:
    """Score by a forest of gradient norms, activations, loss and label, fitted on known records (Nasr et al. 2019).

    The paper uses a network. A forest reads features on any scale, gradients range over many powers of ten,
    and it does better with the few thousand records that an attacker knows.

    Returns:
        (records,) log-odds of membership; NaN for the known records, for those that are not evaluated, and if the known
        records are all members or all non-members.
    """
    from sklearn.ensemble import RandomForestClassifier

    view = signals.evidence.need("white_box")
    has_features = ~np.isnan(view.features).any(axis=1)
    known = np.flatnonzero(view.known & has_features)
    training = known[balanced(view.member[known], hashes(view.features[known], signals.labels[known]), ROWS)]
    scores = np.full(len(signals.labels), np.nan)
    scored = has_features & ~view.known
    if not training.size or not scored.any():
        return scores
    leaf = int(np.clip(len(training) // 20, 1, LEAF))
    rows = np.column_stack([view.features, signals.labels])
    forest = RandomForestClassifier(TREES, min_samples_leaf=leaf, random_state=0).fit(
        rows[training], view.member[training]
    )
    share = forest.predict_proba(rows[scored])[:, 1]
    # Shrunk, so that scores are finite if all trees agree.
    scores[scored] = scipy.special.logit((len(training) * share + 0.5) / (len(training) + 1))
    return scores


# A share of 1 or 0 is certain only if every member, and every duplicate of one, is a candidate. It is therefore only
# nearly certain.
SMOOTHING = 1e-6


def leaf_shares(signals: Signals) -> np.ndarray:
    """Score by the mean over trees of the log-likelihood ratio of a leaf's training count, with and without the record.

    Let a leaf hold ``n`` records of the tree's training sample, ``c`` candidates fall in it, and each of them be in the
    sample with probability ``b``, a member with probability ``q``. If the counts are binomial, then
    P(n | member) / P(n | non-member) = 1 - q + q (n / (c - n)) / (b / (1 - b)). ``b`` is the size of the sample over the
    number of candidates, and ``q`` is ``b`` over the share of members: 1 where each tree trains on all of them, 0.63 for
    a bootstrap. If the model counts classes separately (forests of scikit-learn), only candidates and training records
    of the record's class are counted. A model without counts has at least one training record in each leaf.

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
    scores[rows] = np.mean([_tree_log_ratio(leaves, tree, classes) for tree in range(leaves.leaf.shape[1])], axis=0)
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


def knn_value(signals: Signals, value: Literal["knn_likelihood_ratio", "t_waka"]) -> np.ndarray:
    """Score by the distribution of a K-NN target's loss with and without the record; NaN for records not evaluated.

    ``knn_likelihood_ratio`` is the log-likelihood ratio of the target's loss: LiRA without sampling error. ``t_waka`` is
    target-WaKA (Mesana et al. 2024): the area between the two distribution functions above the loss minus that below.
    """
    view = signals.evidence.need("neighbours")
    rows = view.evaluated
    scores = np.full(len(signals.labels), np.nan)
    loss = 1 - signals.target("p_y")[rows]
    score = getattr(knn, value)
    scores[rows] = score(view.x[rows], signals.labels[rows], loss, knn.Knn(k=view.k, metric=view.metric), p=view.rate)
    return scores
