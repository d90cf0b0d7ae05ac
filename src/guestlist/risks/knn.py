"""What members are worth to a K-NN model in some space: SHAPr, self-WaKA, self-Shapley.

The space is an array, one row per record: the target's outputs, a layer, the inputs, or another. A case holds no features, so
its rows are in the space of outputs.

SHAPr's values add up to the accuracy of the K-NN model: their mean over all members is utility, not privacy. And a memorised
outlier, which helps nobody but itself, can have a low one.
"""

from __future__ import annotations

import numpy as np

from guestlist.case import Case

K = 5


def shapr(x, y, x_test, y_test, *, k: int = K, n_jobs: int = 1) -> np.ndarray:
    """(members,) SHAPr: exact K-NN Shapley values, averaged over test records; at risk when above 0 (Duddu et al. 2022).

    Args:
        x, y: (members, dimensions) and (members,) where members stand in the space, and their classes.
        x_test, y_test: the same of records that the target was not trained on.
        k: neighbours that vote.
        n_jobs: threads; -1 for all cores. Results do not depend on it.

    >>> shapr([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1).round(4)
    array([ 0.8333, -0.1667,  0.3333])
    """
    from guestlist.neighbours import Knn, knn_shapley  # imports numba

    return knn_shapley(x, y, x_test, y_test, Knn(k), n_jobs=n_jobs)


def shapr_of_outputs(case: Case) -> np.ndarray:
    """(records,) SHAPr of members in the space of the target's probabilities, non-members as test records; NaN for others."""
    outputs, labels = _outputs(case), case.view.labels
    members, tests = (_sides(case, outputs, side) for side in (True, False))
    values = np.full(len(labels), np.nan)
    if len(members) and len(tests):
        values[members] = shapr(outputs[members], labels[members], outputs[tests], labels[tests])
    return values


def self_waka_of_outputs(case: Case) -> np.ndarray:
    """(records,) self-WaKA of members in the space of the target's probabilities; NaN for others."""
    return _own(case, "self_waka")


def self_shapley_of_outputs(case: Case) -> np.ndarray:
    """(records,) self-Shapley of members in the space of the target's probabilities; NaN for others."""
    return _own(case, "self_shapley")


def _own(case: Case, name: str) -> np.ndarray:
    from guestlist import neighbours  # imports numba when a value is asked for

    outputs, labels = _outputs(case), case.view.labels
    members = _sides(case, outputs, True)
    values = np.full(len(labels), np.nan)
    if len(members):
        value = getattr(neighbours, name)
        values[members] = value(outputs[members], labels[members], neighbours.Knn(K))
    return values


def _outputs(case: Case) -> np.ndarray:
    assert case.view.answers is not None, "the row asks for answers"
    return np.exp(case.view.answers)


def _sides(case: Case, outputs: np.ndarray, member: bool) -> np.ndarray:
    """Rows of the asked members, or of the asked non-members, about whom the target said something."""
    return np.flatnonzero(case.truth.asked & (case.truth.member == member) & ~np.isnan(outputs).any(axis=1))
