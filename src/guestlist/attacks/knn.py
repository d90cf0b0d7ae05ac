"""Attacks on K-NN targets without training: the outputs of other models are computed exactly.

Over all training sets that include each evaluated record with one probability, the distributions of a K-NN model's loss at a
record, with the record in the set and without it, are known in closed form (see ``guestlist.neighbours``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from guestlist.views.signals import Signals


def knn_likelihood_ratio(signals: Signals) -> np.ndarray:
    """Return the log-likelihood ratio of the target's loss with and without the record: LiRA without sampling error.

    NaN for records that are not evaluated.
    """
    from guestlist.neighbours import knn_likelihood_ratio

    return _knn_scores(signals, knn_likelihood_ratio)


def t_waka(signals: Signals) -> np.ndarray:
    """Target-WaKA: the area between the two distribution functions above the target's loss minus that below (Mesana et al. 2024).

    NaN for records that are not evaluated.
    """
    from guestlist.neighbours import t_waka

    return _knn_scores(signals, t_waka)


def _knn_scores(signals: Signals, value: Callable) -> np.ndarray:
    from guestlist.neighbours import Knn

    view = signals.evidence.need("neighbours")
    rows = view.evaluated
    scores = np.full(len(signals.labels), np.nan)
    loss = 1 - signals.target("p_y")[rows]
    scores[rows] = value(view.x[rows], signals.labels[rows], loss, Knn(k=view.k, metric=view.metric), p=view.rate)
    return scores
