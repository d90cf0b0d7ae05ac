"""The attack of someone who holds the model itself, and knows of some records whether it trained on them."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from guestlist.attacks.learning import ROWS, balanced, hashes, learn
from guestlist.signals import Signals


def white_box(signals: Signals) -> np.ndarray:
    """A network of gradient norms, activations, loss and label, learnt from the known records (Nasr et al. 2019).

    Every feature is taken as its normal score among the known records: gradients range over many powers of ten.

    Returns:
        (records,) log-odds of membership; NaN for the known records, for those that were not asked about, and where the
        known records are of one kind.
    """
    seen = signals.evidence.need("inner")
    asked = ~np.isnan(seen.features).any(axis=1)
    taught = np.flatnonzero(seen.known & asked)
    taken = taught[balanced(seen.member[taught], hashes(seen.features[taught], signals.labels[taught]), ROWS)]
    scores = np.full(len(signals.labels), np.nan)
    if not taken.size:
        return scores
    labels = np.eye(signals.labels.max() + 1)[signals.labels]
    rows = np.column_stack([normal_scores(seen.features, seen.features[taken]), labels])
    fitted, judged = learn(rows[taken], seen.member[taken]), asked & ~seen.known
    scores[judged] = fitted(rows[judged])
    return scores


def normal_scores(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(records, features) normal quantiles of each value's rank among the known ones, equals in the middle; NaN stays."""
    ranks = np.empty(values.shape)
    for column, ordered in enumerate(np.sort(known, axis=0).T):
        below, up_to = (np.searchsorted(ordered, values[:, column], side=side) for side in ("left", "right"))
        ranks[:, column] = (below + up_to + 1) / 2
    return np.where(np.isnan(values), np.nan, ndtri(ranks / (len(known) + 1)))
