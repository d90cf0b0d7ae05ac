"""Attack by quantile regression of the target's output on known non-members."""

from __future__ import annotations

import numpy as np

from guestlist.views.signals import Signals


def quantile(signals: Signals) -> np.ndarray:
    """Return the target's hinge minus the quantile of similar non-members (Bertran et al. 2023, algorithm 1).

    A quantile of the hinge is regressed on features and label over known non-members. If the regressor has
    no skill, all records have one quantile, and the results say so. A score of 0 is not a threshold for a given
    false-positive rate, since regressors tend to predict too little beyond the records that they fit; p-values are.

    Returns:
        (records,) scores; NaN for the known non-members themselves, and where the target was not asked.
    """
    view = signals.evidence.need("quantiles")
    return np.where(np.isnan(signals.target("margin")), np.nan, view.hinge - view.ceiling)


def quantile_p_value(signals: Signals) -> np.ndarray:
    """Share of known non-members, kept out of the regression, with as large a score, the record's own counting as one.

    (A split-conformal p-value: it holds for non-members on the whole, however good the regressor is.)
    """
    scores = quantile(signals)
    beyond = signals.evidence.need("quantiles").beyond
    as_large = len(beyond) - np.searchsorted(beyond, scores, side="left")
    return np.where(np.isnan(scores), np.nan, (1 + as_large) / (1 + len(beyond)))
