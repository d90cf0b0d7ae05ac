"""A small network that separates members from non-members, independently of the order of the rows.

Stochastic gradient descent depends on the order of its rows, and an attack must not. Rows are therefore sorted by a hash of
their content first, which also decides which of too many rows are used. Equal rows have equal hashes, so their order does not
matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

HIDDEN = 64
# More rows make the fit slower and hardly better: this many take a second or two.
ROWS = 20_000
# With fewer rows than this, none are held out for early stopping.
FEWEST_TO_STOP_EARLY = 200

LogOdds = Callable[[np.ndarray], np.ndarray]


def hashes(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (rows,) hashes of the content of a row, in single precision, and of its label."""
    bits = np.column_stack([rows.astype(np.float32).view(np.uint32), labels.astype(np.uint32)]).astype(np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=bits.shape[1:], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = (bits * odd).sum(axis=1, dtype=np.uint64)  # wraps around
    for shift in (33, 29, 32):  # the upper bits of a product are well mixed, the lower ones are not
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * odd[0]
    return mixed


def balanced(member: np.ndarray, order: np.ndarray, limit: int) -> np.ndarray:
    """Return the positions of equal numbers of members and non-members, members first.

    Args:
        member: (rows,) true for members.
        order: (rows,) hashes; the smallest are chosen.
        limit: Maximum number of positions.
    """
    classes = [np.flatnonzero(member), np.flatnonzero(~member)]
    count = min(limit // 2, *map(len, classes))
    return np.concatenate([rows[np.argsort(order[rows])[:count]] for rows in classes])


def learn(rows: np.ndarray, member: np.ndarray) -> LogOdds:
    """Fit a network with one hidden layer; return the function from features to log-odds of membership.

    Args:
        rows: (rows, features) without NaN, in an order that does not depend on how they came in.
        member: (rows,) true for members; there are members and non-members.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    mean = rows.mean(axis=0)
    deviation = rows.std(axis=0)
    deviation = np.where(deviation > 1e-9 * (1 + np.abs(mean)), deviation, 1.0)  # constant columns
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
    first, last = network.coefs_
    hidden, out = network.intercepts_

    def log_odds(features: np.ndarray) -> np.ndarray:
        # Log-odds are not computed from probabilities, which saturate and tie.
        return (np.maximum((features - mean) / deviation @ first + hidden, 0) @ last + out)[:, 0]

    return log_odds
