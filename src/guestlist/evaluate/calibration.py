"""Expected calibration error: distance between confidence and accuracy (Naeini et al. 2015).

Records are put into bins of about equal size by confidence; of each bin, mean confidence is held against the share that is
right, and the distances are averaged. Chance alone makes such distances: the figure lies above the truth, the more so the
fewer records there are, and 0 is never reached. By the triangle inequality the error is off by at most the sum of what chance
adds to each bin, whose spread is known: the interval is that sum's quantile, and holds the truth more often than it says.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from guestlist.arrays.samples import consecutive_codes, drop_unscored, error_of
from guestlist.evaluate.estimate import WITHHELD, Estimate

BINS = 10
DRAWS = 4000  # of the chances of all bins together
SEED = 0


def calibration_error(
    sureness: np.ndarray, correct: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95
) -> Estimate:
    """Compute the mean distance of confidence and accuracy over bins; withheld without records.

    Args:
        sureness: (records,) probability of the class that is answered with.
        correct: (records,) whether that class is the true one.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of the interval.

    >>> right = np.arange(400) % 10 < 7
    >>> print(calibration_error(np.full(400, 0.7), right), calibration_error(np.full(400, 0.9), right))
    0.000 [0.000, 0.045] 0.200 [0.155, 0.245]
    """
    error = error_of(confidence)
    sureness, correct = drop_unscored(sureness, correct)
    if not len(sureness):
        return WITHHELD
    bins = _bins(sureness)
    value = float(np.abs(np.bincount(bins, sureness - correct)).sum() / len(bins))
    chances = _normal(bins.max() + 1) @ _root(_covariance(bins, correct, clusters))
    room = float(np.quantile(np.abs(chances).sum(axis=1), 1 - error))
    return Estimate(value, max(value - room, 0.0), min(value + room, 1.0))


@lru_cache(maxsize=BINS)
def _normal(bins: int) -> np.ndarray:
    return np.random.default_rng(SEED).normal(size=(DRAWS, bins))


def _bins(sureness: np.ndarray) -> np.ndarray:
    """(records,) numbers of bins of about equal size; equal values share one."""
    edges = np.unique(np.quantile(sureness, np.arange(1, BINS) / BINS))
    return consecutive_codes(np.searchsorted(edges, sureness))


def _covariance(bins: np.ndarray, correct: np.ndarray, clusters: np.ndarray | None) -> np.ndarray:
    """(bins, bins) of what chance adds to the signed distance of each bin, as a share of all records."""
    size = np.bincount(bins)
    right = np.bincount(bins, correct)
    off = correct - (right / size)[bins]
    if clusters is None:
        covariance = np.diag(np.bincount(bins, off**2))
    else:
        owner = consecutive_codes(np.asarray(clusters))
        sums = np.zeros((owner.max() + 1, len(size)))
        np.add.at(sums, (owner, bins), off)
        covariance = sums.T @ sums
    # In a bin where all are right nothing varies: two more of either kind keep it from being sure (Agresti & Coull 1998).
    likely = (right + 2) / (size + 4)
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), size * likely * (1 - likely)))
    return covariance / len(bins) ** 2


def _root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T
