"""SHAPr: Shapley value of a member for a K-NN model in some space.

The space is an array, one row per record: the target's outputs, a layer, the inputs, or another.

The values add up to the accuracy of the K-NN model: their mean over all members is utility, not privacy. A memorised
outlier, which helps only itself, can have a low value.
"""

import numpy as np

SHAPR_K = 5


def shapr(x, y, x_test, y_test, *, k: int = SHAPR_K, n_jobs: int = 1) -> np.ndarray:
    """(members,) SHAPr: exact K-NN Shapley values, averaged over test records; at risk when above 0 (Duddu et al. 2022).

    Args:
        x, y: (members, dimensions) and (members,) positions of members in the space, and their classes.
        x_test, y_test: the same of records that the target was not trained on.
        k: neighbours that vote.
        n_jobs: threads; -1 for all cores. Results do not depend on it.

    >>> shapr([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1).round(4)
    array([ 0.8333, -0.1667,  0.3333])

    Returns:
        (members,) values; at risk if above 0.
    """
    from guestlist.knn import Knn, knn_shapley  # imports numba

    return knn_shapley(x, y, x_test, y_test, Knn(k), n_jobs=n_jobs)


def shapr_of_members(space: np.ndarray, labels: np.ndarray, members: np.ndarray, tests: np.ndarray) -> np.ndarray:
    """(records,) SHAPr of members, with other records as tests; NaN for all others.

    Args:
        space: (records, dimensions).
        members, tests: (records,) masks.
    """
    values = np.full(len(labels), np.nan)
    if members.any() and tests.any():
        values[members] = shapr(space[members], labels[members], space[tests], labels[tests])
    return values
