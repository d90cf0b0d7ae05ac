"""A small network that tells members from non-members, fitted so that the order of the rows plays no part.

Stochastic gradient descent depends on the order of its rows, and an attack must not. Rows are therefore put in an order
of their own before anything else happens: by a hash of what they hold, which also decides which of too many rows are
taken. Equal rows have equal hashes, and may change places.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

HIDDEN = 64
# More rows make the fit slower and hardly better: this many take a second or two.
ROWS = 20_000
# With fewer rows than this, none are spared to say when to stop.
FEWEST_TO_STOP_EARLY = 200

LogOdds = Callable[[np.ndarray], np.ndarray]


def hashes(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(rows,) numbers that depend on what a row holds, in single precision, and on its label."""
    bits = np.column_stack([rows.astype(np.float32).view(np.uint32), labels.astype(np.uint32)]).astype(np.uint64)
    drawn = np.random.default_rng(0).integers(2**63, size=(bits.shape[1],), dtype=np.uint64)
    odd = np.asarray(drawn) * np.uint64(2) + np.uint64(1)
    mixed = (bits * odd).sum(axis=1, dtype=np.uint64)  # wraps around
    for shift in (33, 29, 32):  # the upper bits of a product are well mixed, the lower ones are not
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * odd[0]
    return mixed


def balanced(member: np.ndarray, order: np.ndarray, most: int) -> np.ndarray:
    """As many members as non-members, ``most`` in all: the positions of those first in ``order``, members first.

    Args:
        member: (rows,) the truth.
        order: (rows,) hashes.
    """
    sides = [np.flatnonzero(member), np.flatnonzero(~member)]
    count = min(most // 2, *map(len, sides))
    return np.concatenate([side[np.argsort(order[side])[:count]] for side in sides])


def learn(rows: np.ndarray, member: np.ndarray) -> LogOdds:
    """A network with one hidden layer: features to log-odds of membership.

    Args:
        rows: (rows, features) without NaN, in an order that does not depend on how they came in.
        member: (rows,) the truth, both kinds.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    deviation = np.where(deviation > 1e-9 * (1 + np.abs(mean)), deviation, 1.0)  # what never varies says nothing
    network = MLPClassifier(
        (HIDDEN,),
        alpha=1e-2,
        learning_rate_init=3e-3,
        max_iter=60,
        early_stopping=len(rows) >= FEWEST_TO_STOP_EARLY,
        n_iter_no_change=8,
        random_state=0,
    )
    # Threads only get in each other's way in matrices this small.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the iterations are capped on purpose
        network.fit((rows - mean) / deviation, member)
    (first, last), (hidden, out) = network.coefs_, network.intercepts_

    def log_odds(features: np.ndarray) -> np.ndarray:
        # Not from probabilities: those saturate, and what saturates is tied.
        return (np.maximum((features - mean) / deviation @ first + hidden, 0) @ last + out)[:, 0]

    return log_odds
