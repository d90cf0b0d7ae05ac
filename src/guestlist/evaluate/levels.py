"""Realised FPR and TPR of a test at a level: shares of non-members and members with a p-value of at most alpha.

The threshold is the level itself, fixed in advance, so Clopper and Pearson's interval is exact for fresh non-members under the
same target, references and population. It does not cover a test that misses its level because of the few records or models it
was fitted on.
"""

from __future__ import annotations

import numpy as np

from guestlist.arrays.samples import check_share, cluster_codes, drop_unscored, optional_take
from guestlist.evaluate.estimate import Estimate
from guestlist.evaluate.persons import clustered_proportion


def rates_at_level(
    p_values: np.ndarray,
    member: np.ndarray,
    alpha: float,
    *,
    clusters: np.ndarray | None = None,
    confidence: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """Compute FPR and TPR of a test that flags records with a p-value of at most ``alpha`` (Ye et al. 2022).

    A calibrated test has an FPR of at most ``alpha``.

    Args:
        p_values: (records,) NaN is ignored.
        member: (records,) True for members.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of each interval.

    Returns:
        The two shares; one is withheld where no record of its kind has a p-value.

    >>> fpr, tpr = rates_at_level(np.array([0.01, 0.04, 0.2, 0.6]), np.array([True, False, False, False]), 0.05)
    >>> print(fpr)
    0.333 [0.008, 0.906]
    """
    check_share(alpha=alpha)
    clusters = cluster_codes(clusters, p_values)
    p_values, member = drop_unscored(p_values, member)
    fpr, tpr = (
        clustered_proportion(p_values[kind] <= alpha, clusters=optional_take(clusters, kind), confidence=confidence)
        for kind in (~member, member)
    )
    return fpr, tpr
