"""Attacks on K-NN targets that train nothing: what other models would say is computed exactly.

Over all training sets that hold each asked record with one probability, the laws of a K-NN model's loss at a record,
with the record in the set and without it, are known in closed form (see ``guestlist.neighbours``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from guestlist.views.signals import Signals


def knn_likelihood_ratio(signals: Signals) -> np.ndarray:
    """Log chance of the target's loss with the record minus that without it: LiRA without its sampling error.

    NaN for records that are not asked about.
    """
    from guestlist.neighbours import knn_likelihood_ratio

    return _scores(signals, knn_likelihood_ratio)


def t_waka(signals: Signals) -> np.ndarray:
    """Target-WaKA: the area between the two laws above the target's loss minus that below (Mesana et al. 2024).

    NaN for records that are not asked about.
    """
    from guestlist.neighbours import t_waka

    return _scores(signals, t_waka)


def _scores(signals: Signals, value: Callable) -> np.ndarray:
    from guestlist.neighbours import Knn

    near = signals.evidence.need("neighbours")
    scores = np.full(len(signals.labels), np.nan)
    x, labels, loss = near.x[near.evaluated], signals.labels[near.evaluated], 1 - signals.target("p_y")[near.evaluated]
    scores[near.evaluated] = value(x, labels, loss, Knn(k=near.k, metric=near.metric), p=near.rate)
    return scores
