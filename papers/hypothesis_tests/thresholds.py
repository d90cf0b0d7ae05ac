"""Thresholds by quantile, as in the paper: the level's quantile of the losses that a test compares with.

A rank among n models tests at a multiple of 1 / (n + 1), so that tests with different n are compared at different
levels. A quantile is interpolated between two losses, and R, D and L use the same number of models.
"""

from __future__ import annotations

import numpy as np

import guestlist as gl

# R, D and L compare with other models' losses on the same record: reference, distilled and leave-one-out models.
MODELS_OF = {"R": None, "D": "distilled", "L": "left_out"}


def thresholds(case: gl.Case, tests: str, level: float, models: int) -> dict[str, np.ndarray]:
    """Return test to (records,) thresholds on the loss; NaN where R, D or L has too few OUT models.

    Args:
        tests: their letters, such as "SPRDL".
        models: number of models of R, D and L for each record.
    """
    return {test: _thresholds(case, test, level, models) for test in tests}


def calls(case: gl.Case, tests: str, level: float, models: int) -> dict[str, np.ndarray]:
    """Test to (records,) flags: 1.0 where the target's loss is at most the threshold; NaN without a threshold."""
    loss, limits = case.view.target("loss"), thresholds(case, tests, level, models)
    return {test: np.where(np.isnan(limit), np.nan, loss <= limit) for test, limit in limits.items()}


def signals_of(case: gl.Case, test: str, signal: str, models: int) -> np.ndarray:
    """(models, records) signal of the first models of R, D or L that did not train on a record.

    NaN throughout where a record has fewer of them.
    """
    evidence = MODELS_OF[test]
    view = case.view if evidence is None else case.view.with_references(case.view.evidence.need(evidence))
    values = view.reference(signal)
    counts = ~view.reference_member & ~np.isnan(values)
    first = np.argsort(~counts, axis=0, kind="stable")[:models]
    chosen = np.take_along_axis(values, first, axis=0)
    enough = (counts.sum(axis=0) >= models) & (len(values) >= models)
    return np.where(enough, chosen, np.nan)


def _thresholds(case: gl.Case, test: str, level: float, models: int) -> np.ndarray:
    view = case.view
    if test == "P":
        return np.full(len(view.labels), np.quantile(view.target("loss")[view.population], level))
    if test == "S":
        return _by_class(view.labels, view.reference("loss"), ~view.reference_member, level)
    return np.quantile(signals_of(case, test, "loss", models), level, axis=0)


def _by_class(labels: np.ndarray, loss: np.ndarray, outside: np.ndarray, level: float) -> np.ndarray:
    limits = np.empty(len(labels))
    for label in np.unique(labels):
        of_class = labels == label
        limits[of_class] = np.quantile(loss[:, of_class][outside[:, of_class]], level)
    return limits
