"""Metrics of two audits of the same records, compared pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from guestlist.arrays.samples import consecutive_codes, error_of
from guestlist.comparing.comparison import Difference
from guestlist.comparing.pairing import Side
from guestlist.evaluate import (
    WITHHELD,
    Estimate,
    auc,
    auc_difference,
    calibration_error,
    clustered_proportion,
    tpr_at_fpr,
)
from guestlist.evaluate.intervals import newcombe_difference
from guestlist.evaluate.persons import ClusterSums

PairedMetric = Callable[[float], Difference]  # the confidence that the interval of the difference has, to the figure


def paired_metrics(first: Side, second: Side, fpr: float, exposed: np.ndarray | None) -> list[PairedMetric]:
    """Return every metric that both audits have.

    Args:
        exposed: (records,) true for the most exposed members; None if unknown.
    """
    metrics: list[PairedMetric] = []
    if first.has("correct") and second.has("correct"):
        metrics += [partial(_accuracy, first, second, records) for records in ("non-members", "members")]
    everyone = np.ones(len(first.member), dtype=bool)
    metrics += [partial(_auc, first, second, everyone, "auc"), partial(_tpr, first, second, everyone, "tpr", fpr)]
    if exposed is not None:
        rows = exposed | ~first.member
        metrics += [partial(_auc, first, second, rows, "exposed_auc")]
        metrics += [partial(_tpr, first, second, rows, "exposed_tpr", fpr)]
    if all(side.has("correct", "confidence") for side in (first, second)):
        metrics.append(partial(_calibration, first, second))
    return metrics


def accuracy_of(side: Side, records: str) -> Estimate:
    """Return the accuracy on members or on non-members."""
    rows = side.member == (records == "members")
    return clustered_proportion(side.values("correct")[rows] > 0, clusters=_clusters(side, rows))


def auc_of(side: Side, rows: np.ndarray) -> Estimate:
    """Return the AUC of the headline attack on some of the records."""
    return auc(side.scores[rows], side.member[rows], clusters=_clusters(side, rows))


def tpr_of(side: Side, rows: np.ndarray, fpr: float, confidence: float = 0.95) -> Estimate:
    """Return the TPR of the headline attack on some of the records."""
    return tpr_at_fpr(side.scores[rows], side.member[rows], fpr, clusters=_clusters(side, rows), confidence=confidence)


def calibration_of(side: Side, confidence: float = 0.95) -> Estimate:
    """Return the calibration error on non-members."""
    rows = ~side.member
    sureness = side.values("confidence")[rows]
    right = side.values("correct")[rows] > 0
    return calibration_error(sureness, right, clusters=_clusters(side, rows), confidence=confidence)


def mean_of_differences(values: np.ndarray, persons: np.ndarray | None, confidence: float = 0.95) -> Estimate:
    """Mean of values in [-1, 1], with bounds that hold for lumpy ones as well: most pairs do not differ."""
    if not len(values):
        return WITHHELD
    error = error_of(confidence)
    sums = ClusterSums.from_values((values + 1) / 2, None if persons is None else consecutive_codes(persons))
    low, high = (2 * float(end) - 1 for end in (sums.lower(error / 2), sums.upper(error / 2)))
    return Estimate(float(values.mean()), low, high)


def paired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Second minus first of shares, each estimated on its own.

    That pairs resemble each other makes the interval wider than it need be.
    """
    if np.isnan(first.value) or np.isnan(second.value):
        return WITHHELD
    value, low, high = newcombe_difference(second, first)
    return Estimate(value, max(low, -1.0), min(high, 1.0))


def _accuracy(first: Side, second: Side, records: str, confidence: float) -> Difference:
    rows = first.member == (records == "members")
    gaps = (second.values("correct") - first.values("correct"))[rows]
    difference = mean_of_differences(gaps, _clusters(first, rows), confidence)
    return Difference("accuracy", records, accuracy_of(first, records), accuracy_of(second, records), difference)


def _auc(first: Side, second: Side, rows: np.ndarray, metric: str, confidence: float) -> Difference:
    member = first.member[rows]
    persons = _clusters(first, rows)
    gap = auc_difference(second.scores[rows], first.scores[rows], member, clusters=persons, confidence=confidence)
    return Difference(metric, _attacks(first, second), auc_of(first, rows), auc_of(second, rows), gap)


def _tpr(first: Side, second: Side, rows: np.ndarray, metric: str, fpr: float, confidence: float) -> Difference:
    """Thresholds are estimated too, each on its own."""
    gap = paired_difference(*(tpr_of(side, rows, fpr, confidence) for side in (first, second)))
    return Difference(metric, _attacks(first, second), tpr_of(first, rows, fpr), tpr_of(second, rows, fpr), gap)


def _calibration(first: Side, second: Side, confidence: float) -> Difference:
    gap = paired_difference(*(calibration_of(side, confidence) for side in (first, second)))
    return Difference("calibration_error", "non-members", calibration_of(first), calibration_of(second), gap)


def _attacks(first: Side, second: Side) -> str:
    return " and ".join(dict.fromkeys((first.attack, second.attack)))


def _clusters(side: Side, rows: np.ndarray) -> np.ndarray | None:
    return None if side.persons is None else side.persons[rows]
